-- The library that scripts see, made from Lua's own and from a few functions in Rust.
--
-- A loop here is made of Lua instructions and so counts for the script; what stays in C takes time that is linear in
-- memory the script already holds. Left out, because no bound holds in them or because they reach outside: coroutine,
-- debug, io, os, package, require, load, dofile, collectgarbage, string.dump, string.pack, print, warn.
local lib = ...

local error, getmetatable, ipairs, next, pairs, pcall, rawset, select, setmetatable, tonumber, tostring, type =
  error, getmetatable, ipairs, next, pairs, pcall, rawset, select, lib.setmetatable, tonumber, tostring, type
local metered, search = lib.metered, lib.search
local floor, random, min, max = math.floor, math.random, math.min, math.max
local native = { string = string, table = table, utf8 = utf8 }
local sub, find = native.string.sub, lib.find
local native_concat, native_rep = metered(native.table.concat), metered(native.string.rep)
local unpack, pack = metered(native.table.unpack), native.table.pack

local function expect(number, name, value, wanted)
  if type(value) ~= wanted then
    error(("bad argument #%d to '%s' (%s expected, got %s)"):format(number, name, wanted, type(value)), 3)
  end
end

-- string ------------------------------------------------------------------------------------------------------------

local strings = {
  byte = metered(native.string.byte), char = metered(native.string.char), find = find,
  format = metered(native.string.format), len = native.string.len, lower = metered(native.string.lower),
  match = lib.match, reverse = metered(native.string.reverse), sub = sub, upper = metered(native.string.upper),
}

-- Lua's own repeats nothing as often as it is told to.
function strings.rep(text, times, between)
  if text == "" and (between == nil or between == "") then return "" end
  return native_rep(text, times, between)
end

function strings.gmatch(text, pattern, init)
  text = type(text) == "number" and tostring(text) or text
  expect(1, "gmatch", text, "string")
  local from, last = init or 1, nil
  if from < 0 then from = max(#text + from + 1, 1) elseif from == 0 then from = 1 end
  local function step(start, stop, ...)
    if start then
      from, last = stop, stop
      return ...
    end
    from = #text + 2
  end
  return function()
    if from > #text + 1 then return nil end
    return step(search(text, pattern, from, last, false))
  end
end

-- The replacement text with its captures put in.
local function expand(replacement, whole, ...)
  local pieces, from = {}, 1
  while true do
    local at = find(replacement, "%", from, true)
    if not at then break end
    pieces[#pieces + 1] = sub(replacement, from, at - 1)
    local what = sub(replacement, at + 1, at + 1)
    if what == "%" then
      pieces[#pieces + 1] = "%"
    elseif what == "0" then
      pieces[#pieces + 1] = whole
    elseif find(what, "%d") then
      local number = tonumber(what)
      if number > select("#", ...) then
        error(("invalid capture index %%%d in replacement string"):format(number), 4)
      end
      pieces[#pieces + 1] = (select(number, ...))
    else
      error("invalid use of '%' in replacement string", 4)
    end
    from = at + 2
  end
  pieces[#pieces + 1] = sub(replacement, from)
  return native_concat(pieces)
end

local function replaced(replacement, kind, whole, ...)
  local value
  if kind == "string" then
    if not find(replacement, "%", 1, true) then return replacement end
    return expand(replacement, whole, ...)
  elseif kind == "table" then
    value = replacement[...]
  else
    value = replacement(...)
  end
  if not value then return whole end
  if type(value) ~= "string" and type(value) ~= "number" then
    error(("invalid replacement value (a %s)"):format(type(value)), 3)
  end
  return value
end

function strings.gsub(text, pattern, replacement, most)
  text = type(text) == "number" and tostring(text) or text
  replacement = type(replacement) == "number" and tostring(replacement) or replacement
  expect(1, "gsub", text, "string")
  local kind = type(replacement)
  if kind ~= "string" and kind ~= "table" and kind ~= "function" then
    error(("bad argument #3 to 'gsub' (string/function/table expected, got %s)"):format(kind), 2)
  end
  local pieces, from, last, count = {}, 1, nil, 0
  local function step(start, stop, ...)
    if not start then return false end
    pieces[#pieces + 1] = sub(text, from, start - 1)
    pieces[#pieces + 1] = replaced(replacement, kind, sub(text, start, stop - 1), ...)
    from, last, count = stop, stop, count + 1
    return true
  end
  local anchored = sub(pattern, 1, 1) == "^"
  while (not most or count < most) and step(search(text, pattern, from, last, true)) do
    if anchored then break end
  end
  pieces[#pieces + 1] = sub(text, from)
  return native_concat(pieces), count
end

-- table -------------------------------------------------------------------------------------------------------------

local tables = { pack = pack, unpack = unpack }

function tables.insert(list, ...)
  expect(1, "insert", list, "table")
  local length, given = #list, select("#", ...)
  if given == 1 then
    list[length + 1] = (...)
    return
  end
  if given ~= 2 then error("wrong number of arguments to 'insert'", 2) end
  local at, value = ...
  if at < 1 or at > length + 1 then error("bad argument #2 to 'insert' (position out of bounds)", 2) end
  for place = length, at, -1 do list[place + 1] = list[place] end
  list[at] = value
end

function tables.remove(list, at)
  expect(1, "remove", list, "table")
  local length = #list
  at = at or length
  if at ~= length and (at < 1 or at > length + 1) then
    error("bad argument #2 to 'remove' (position out of bounds)", 2)
  end
  local value = list[at]
  for place = at, length - 1 do list[place] = list[place + 1] end
  list[max(at, length)] = nil
  return value
end

function tables.move(from, first, last, to, target)
  target = target or from
  if to > last or to <= first or target ~= from then
    for place = 0, last - first do target[to + place] = from[first + place] end
  else
    for place = last - first, 0, -1 do target[to + place] = from[first + place] end
  end
  return target
end

function tables.concat(list, between, first, last)
  expect(1, "concat", list, "table")
  if getmetatable(list) == nil then return native_concat(list, between, first, last) end
  local pieces = {}
  for place = first or 1, last or #list do pieces[#pieces + 1] = list[place] end
  return native_concat(pieces, between)
end

local function less(one, other) return one < other end

local function merge(list, from, middle, to, comes_first, room)
  local left, right = from, middle + 1
  for place = from, to do
    if right > to or (left <= middle and not comes_first(list[right], list[left])) then
      room[place], left = list[left], left + 1
    else
      room[place], right = list[right], right + 1
    end
  end
  for place = from, to do list[place] = room[place] end
end

local function sort(list, from, to, comes_first, room)
  if from >= to then return end
  local middle = (from + to) // 2
  sort(list, from, middle, comes_first, room)
  sort(list, middle + 1, to, comes_first, room)
  if comes_first(list[middle + 1], list[middle]) then merge(list, from, middle, to, comes_first, room) end
end

function tables.sort(list, comes_first)
  expect(1, "sort", list, "table")
  sort(list, 1, #list, comes_first or less, {})
end

-- utf8 --------------------------------------------------------------------------------------------------------------

local utf8s = {}
for name, value in next, native.utf8 do
  utf8s[name] = type(value) == "function" and name ~= "codes" and metered(value) or value
end

-- tidegate ----------------------------------------------------------------------------------------------------------

local helpers = {}

-- Doubles from base_ms on, up to max_ms; a quarter up or down, so that retries do not come all at once.
function helpers.exponential_backoff(attempts, base_ms, max_ms)
  local delay = min(base_ms * 2.0 ^ max(attempts - 1, 0), max_ms)
  return floor(min(delay * (0.75 + random() * 0.5), max_ms))
end

function helpers.tenant_route(msg, header)
  return { fairness_key = msg.headers[header] or "default" }
end

-- The pattern with its headers put in, or nil when one is missing.
local function fill(pattern, headers)
  local key, from = "", 1
  while true do
    local start = find(pattern, "{", from, true)
    local stop = start and find(pattern, "}", start, true)
    if not stop then return key .. sub(pattern, from) end
    local value = headers[sub(pattern, start + 1, stop - 1)]
    if value == nil then return nil end
    key, from = key .. sub(pattern, from, start - 1) .. value, stop + 1
  end
end

function helpers.rate_limit_keys(msg, patterns)
  local keys = {}
  for _, pattern in ipairs(patterns) do
    keys[#keys + 1] = fill(pattern, msg.headers)
  end
  return keys
end

function helpers.max_retries(attempts, most)
  return { action = attempts < most and "retry" or "dlq" }
end

-- globals -----------------------------------------------------------------------------------------------------------

local frozen = {}

-- A view of a table that cannot be written to. Methods of strings go to the table itself, which no script can reach.
local function freeze(name, content)
  local view = {}
  frozen[view] = name
  lib.native_setmetatable(view, {
    __index = content,
    __newindex = function() error(("'%s' cannot be changed"):format(name), 2) end,
    __metatable = false,
  })
  return view
end

local text_metatable = getmetatable("")
text_metatable.__index = strings
text_metatable.__metatable = false

local globals = {
  _VERSION = _VERSION, assert = assert, error = error, getmetatable = getmetatable, ipairs = ipairs, next = next,
  pairs = pairs, pcall = pcall, rawequal = rawequal, rawget = rawget, rawlen = rawlen, select = select,
  setmetatable = setmetatable, tonumber = tonumber, tostring = tostring, type = type, get = lib.get,
  math = freeze("math", math), string = freeze("string", strings), table = freeze("table", tables),
  utf8 = freeze("utf8", utf8s),
  tidegate = freeze("tidegate", { get = lib.get, helpers = freeze("tidegate.helpers", helpers) }),
}

function globals.rawset(target, key, value)
  if frozen[target] then error(("'%s' cannot be changed"):format(frozen[target]), 2) end
  return rawset(target, key, value)
end

-- Lua's own calls the handler before it unwinds, where no look comes.
function globals.xpcall(body, handler, ...)
  local results = pack(pcall(body, ...))
  if results[1] then return unpack(results, 1, results.n) end
  return false, handler(results[2])
end

-- An environment for one script: what it sets is its own, what it reads and has not set is the library's.
return function()
  local environment = {}
  environment._G = environment
  return lib.native_setmetatable(environment, { __index = globals, __metatable = false })
end
