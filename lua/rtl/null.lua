--- The null of JSON and YAML: a value of its own, since a table can't hold nil.
-- `value == null` tests for it; it is true in a condition; tostring gives "null".

return require "rtl.native.json".null
