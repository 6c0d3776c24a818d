// The module that programs import. Its parts are modules, so that the compiler checks their dependencies.
@_exported public import CurlewCache
@_exported public import CurlewCore
@_exported public import CurlewLoad
@_exported public import CurlewTransfers
