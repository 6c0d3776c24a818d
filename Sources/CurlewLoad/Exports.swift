// Every file of this module sees the names of the core, those for the package included.
@_exported public import CurlewCore
