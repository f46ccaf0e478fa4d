//! Patterns give the answers of plain Lua 5.4, whatever the pattern.

use mlua::{Function, Lua};
use proptest::prelude::*;
use tidegate_hooks::{EnqueueInput, Sandbox};

use crate::scene::sandbox;

/// Tries a pattern in every function, and tells all that came out as one text.
const TELL: &str = r"
local function told(ok, ...)
  if not ok then return 'error' end
  local words = {}
  for i = 1, select('#', ...) do words[i] = tostring((select(i, ...))) end
  return table.concat(words, '|')
end
function tell(text, pattern, init)
  local all = {
    told(pcall(string.find, text, pattern, init)),
    told(pcall(string.match, text, pattern, init)),
    -- A function is given all captures; plain Lua sees that one was never closed only when it is used.
    told(pcall(string.gsub, text, pattern, function(...) return '<' .. table.concat({ ... }, ',') .. '>' end)),
    told(pattern:find('(', 1, true) or pcall(string.gsub, text, pattern, '<%0%1%%>', 2)),
    told(pcall(function()
      local words, count = {}, 0
      for a, b in string.gmatch(text, pattern, init) do
        words[#words + 1] = tostring(a) .. ',' .. tostring(b)
        count = count + 1
        if count > 20 then break end
      end
      return table.concat(words, ';')
    end)),
  }
  return table.concat(all, '\n')
end
";

fn ours(sandbox: &mut Sandbox, text: &[u8], pattern: &[u8], init: i64) -> Vec<u8> {
    let init = init.to_string();
    let headers: [(&[u8], &[u8]); 3] = [(b"text", text), (b"pattern", pattern), (b"init", init.as_bytes())];
    let input = EnqueueInput { queue: "q", headers: &headers, payload_size: 0 };
    sandbox.on_enqueue(&input).unwrap().fairness_key.unwrap()
}

fn plain(tell: &Function, lua: &Lua, text: &[u8], pattern: &[u8], init: i64) -> Vec<u8> {
    let (text, pattern) = (lua.create_string(text).unwrap(), lua.create_string(pattern).unwrap());
    tell.call::<mlua::LuaString>((text, pattern, init)).unwrap().as_bytes().to_vec()
}

fn both(cases: impl IntoIterator<Item = (Vec<u8>, Vec<u8>, i64)>) {
    let lua = Lua::new();
    lua.load(TELL).exec().unwrap();
    let tell: Function = lua.globals().get("tell").unwrap();
    let call = "function on_enqueue(m) local h = m.headers return { fairness_key = tell(h.text, h.pattern, tonumber(h.init)) } end";
    let mut sandbox = sandbox(&format!("{TELL} {call}"));
    for (text, pattern, init) in cases {
        let (ours, plain) =
            (ours(&mut sandbox, &text, &pattern, init), plain(&tell, &lua, &text, &pattern, init));
        assert_eq!(
            String::from_utf8_lossy(&ours),
            String::from_utf8_lossy(&plain),
            "text {:?}, pattern {:?}, init {init}",
            String::from_utf8_lossy(&text),
            String::from_utf8_lossy(&pattern),
        );
    }
}

#[test]
fn each_piece_of_the_language() {
    let text = b"The (quick) [brown] fox_9 THE\tend\0\xff";
    for pattern in [
        "",
        "^",
        "$",
        "^$",
        ".",
        "%a+",
        "%A+",
        "%c",
        "%d",
        "%g+",
        "%l+",
        "%p",
        "%s",
        "%u+",
        "%w+",
        "%x+",
        "%z",
        "%W",
        "[%w_]+",
        "[^%w]+",
        "[a-f]+",
        "[]]",
        "[^]]",
        "[a-]",
        "[-a]",
        "[%]]",
        "[%a-z]",
        "%b()",
        "%b[]",
        "%bxx",
        "%b",
        "%bx",
        "%f[%a]%a+",
        "%f[%z]",
        "%f[%W]",
        "%f",
        "%fa",
        "(%a+)%s(%p)",
        "()",
        "()%a()",
        "(%a)%1",
        "(.)%1",
        "%1",
        "%0",
        "(%1)",
        "((%a)(%a))",
        ")",
        "%",
        "[",
        "[a",
        "[^",
        "[%",
        "a*",
        "a-",
        "a+",
        "a?",
        "T.-e",
        "T.*e",
        "T.+e",
        ".-$",
        "^T",
        "^(T)",
        "t$",
        "$t",
        "a$b",
        "^^",
        "%$",
        "%^",
        "**",
        "+",
        "?",
        "-",
        "%a**",
    ] {
        both([1, 5, 0, -3, 100, -100].map(|init| (text.to_vec(), pattern.as_bytes().to_vec(), init)));
    }
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let set = "\\[\\^?[a-c%\\-\\]]{1,4}\\]";
    let whole = "[.abc(]|%[awdsplucx]|%b\\(\\)|%f\\[%a\\]|\\(\\)|\\(|\\)|%1|\\^|\\$";
    (prop_oneof![whole.prop_map(String::into_bytes), set.prop_map(String::into_bytes)], "[*+?-]?")
        .prop_map(|(piece, suffix)| [piece, suffix.into_bytes()].concat())
}

fn pattern() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => prop::collection::vec(piece(), 0..6).prop_map(|pieces| pieces.concat()),
        1 => prop::collection::vec(prop::sample::select(b"ab%.*+-?()[]^$f1\0".to_vec()), 0..10),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_pattern_on_any_text(cases in prop::collection::vec(
        (prop::collection::vec(prop::sample::select(b"abc()1 Z\0\xff".to_vec()), 0..14), pattern(), -4_i64..16), 40)
    ) {
        both(cases);
    }
}
