// Users of Curlew see the names of CurlewJSON. CurlewSupport has names for the package alone; every file here sees them.
@_exported public import CurlewJSON
@_exported public import CurlewSupport
