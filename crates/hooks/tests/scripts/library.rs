//! The library answers as Lua's own does.

use mlua::Lua;

use crate::scene::value_of;

/// The value of each expression, here and in plain Lua 5.4.
#[test]
fn as_in_plain_lua() {
    let lua = Lua::new();
    for expression in [
        "('x'):rep(3)",
        "('ab'):rep(3, '-')",
        "('x'):rep(0)",
        "('x'):rep(-1)",
        "('hello'):sub(2, -2)",
        "('aBc'):upper() .. ('aBc'):lower()",
        "#'abc'",
        "('abc'):reverse()",
        "('abc'):byte(2)",
        "string.char(72, 105)",
        "('%5.2f|%s|%q'):format(1.5, 'x', 'y\\n')",
        "'10' + 5",
        "('x'):len()",
        "('a,b,c'):find(',', 1, true)",
        "table.concat({ 1, 2, 3 }, ', ')",
        "table.concat({}, 'x')",
        "table.concat({ 'a', 'b', 'c' }, '-', 2, 3)",
        "pcall(table.concat, { {} })",
        "select('#', table.unpack({ 1, nil, 3 }, 1, 3))",
        "table.pack(1, nil, 3).n",
        "(function() local t = { 1, 2, 3 } table.insert(t, 4) table.insert(t, 1, 0) return table.concat(t, ' ') end)()",
        "(function() local t = { 1, 2, 3 } return table.remove(t) .. table.remove(t, 1) .. #t end)()",
        "(function() local t = {} return tostring(table.remove(t)) .. tostring(table.remove(t, 1)) .. #t end)()",
        "(function() local t = { 1 } return tostring(table.remove(t, 2)) .. #t end)()",
        "pcall(table.remove, { 1 }, 3)",
        "pcall(table.remove, { 1 }, 0)",
        "pcall(table.insert, { 1 }, 3, 1)",
        "pcall(table.insert, { 1 }, 0, 1)",
        "pcall(table.insert, {})",
        "pcall(table.insert, {}, 1, 2, 3)",
        "table.concat(table.move({ 1, 2, 3, 4 }, 2, 4, 1), ' ')",
        "table.concat(table.move({ 1, 2, 3 }, 1, 3, 2), ' ')",
        "table.concat(table.move({ 1, 2, 3 }, 1, 3, 2, { 9 }), ' ')",
        "#table.move({ 1 }, 1, 0, 5)",
        "(function() local t = { 3, 1, 2, 5, 4 } table.sort(t) return table.concat(t) end)()",
        "(function() local t = { 3, 1, 2 } table.sort(t, function(a, b) return a > b end) return table.concat(t) end)()",
        "(function() local t = {} for i = 1, 200 do t[i] = i * 7919 % 211 end table.sort(t) return table.concat(t, ' ') end)()",
        "(function() local n = 0 for k, v in pairs({ a = 1, b = 2 }) do n = n + v end return n end)()",
        "(function() local s = '' for i, v in ipairs({ 'a', 'b', nil, 'c' }) do s = s .. i .. v end return s end)()",
        "select(2, pcall(error, { code = 7 })).code",
        "select(2, pcall(error, 'x', 0))",
        "select('#', pcall(error))",
        "select(2, xpcall(error, function(e) return e .. '!' end, 'x'))",
        "select(2, xpcall(function(a) return a end, error, 5))",
        "math.type(3) .. math.floor(3.7) .. math.max(1, 2)",
        "tonumber('0x10') .. tonumber('z', 36)",
        "utf8.char(228, 8364) .. utf8.len('\u{e4}\u{20ac}')",
        "type(next) .. type(nil)",
        "rawequal('a', 'a')",
        "rawlen({ 1, 2 })",
        "rawget(setmetatable({}, { __index = { x = 1 } }), 'x')",
        "tostring(1e15) .. tostring(2^53) .. 10 // 3 .. 7 % -3",
        "(function() local s = '' for k, v in ('a=1, b=2'):gmatch('(%w+)=(%w+)') do s = s .. k .. v end return s end)()",
        "('hello world'):gsub('o', '0')",
        "select(2, ('hello world'):gsub('o', '0', 1))",
        "('hello'):gsub('', '-')",
        "('hello world'):gsub('%w+', '<%0>')",
        "('a b'):gsub('(%w) (%w)', '%2 %1')",
        "('abc'):gsub('%w', { a = 1, b = false })",
        "('abc'):gsub('%w', function(c) return c == 'b' and 'X' or nil end)",
        "('100%'):gsub('%%', '%%%%')",
        "(5):gsub('5', 6)",
        "string.gsub(555, 5, 6)",
        "('abc'):gsub('^a', 'x')",
        "('aaa'):gsub('^a', 'x')",
        "('abc'):gsub('()', '%1')",
        "pcall(string.gsub, 'a', 'a', '%2')",
        "pcall(string.gsub, 'a', 'a', '%x')",
        "pcall(string.gsub, 'a', 'a', function() return {} end)",
        "pcall(string.gsub, 'a', 'a', nil)",
        "pcall(string.rep)",
        "pcall(string.gsub)",
        "('x'):gsub('x', '%%1')",
    ] {
        let plain: String = lua
            .load(format!("return tostring({expression})"))
            .eval()
            .unwrap_or_else(|error| format!("{error}"));
        if plain.starts_with("syntax error") || plain.contains("attempt to index a number") {
            continue;
        }
        assert_eq!(value_of(expression), plain, "{expression}");
    }
}
