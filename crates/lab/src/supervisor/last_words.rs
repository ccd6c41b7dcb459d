//! The last words of a program that died: what went wrong, without the stack that it went wrong in.

/// Lines of a stack that are kept at either end, so that it can be seen where it comes from and whose code is on it.
const KEPT_FRAMES: usize = 2;

/// At most `most` of the `lines`, none of which is empty: the last ones, in which a long stack is cut short. The line that tells an
/// error stays, however much is printed behind it.
pub(super) fn last_words(lines: &[&str], most: usize) -> Vec<String> {
    if lines.len() <= most {
        return lines.iter().map(|line| (*line).to_owned()).collect();
    }
    let (kept, frames) = without_stacks(lines);
    let cut = kept.len().saturating_sub(most);
    let tells = |at: &usize| !frames.contains(at) && tells_an_error(&kept[*at]);
    let mut words = kept[cut..].to_vec();
    if !(cut..kept.len()).any(|at| tells(&at))
        && let Some(told) = (0..cut).rev().find(tells)
        && let Some(first) = words.first_mut()
    {
        first.clone_from(&kept[told]);
    }
    words
}

/// The lines with every stack cut short, and which of them belong to a stack.
fn without_stacks(lines: &[&str]) -> (Vec<String>, Vec<usize>) {
    let (mut kept, mut frames) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < lines.len() {
        let length = stack_at(lines, at);
        if length == 0 {
            kept.push(lines[at].to_owned());
            at += 1;
            continue;
        }
        let stack = &lines[at..at + length];
        let first_of_stack = kept.len();
        if length > 2 * KEPT_FRAMES + 1 {
            kept.extend(stack[..KEPT_FRAMES].iter().map(|line| (*line).to_owned()));
            kept.push(format!("    [{} lines of the stack left out]", length - 2 * KEPT_FRAMES));
            kept.extend(stack[length - KEPT_FRAMES..].iter().map(|line| (*line).to_owned()));
        } else {
            kept.extend(stack.iter().map(|line| (*line).to_owned()));
        }
        frames.extend(first_of_stack..kept.len());
        at += length;
    }
    (kept, frames)
}

/// How many lines from `at` on are a stack.
fn stack_at(lines: &[&str], at: usize) -> usize {
    let mut length = 0;
    let mut is_python = false;
    while let Some(line) = lines.get(at + length) {
        let is_pythons = line.starts_with("  File \"");
        // Source and marks stand below a frame of Python, further to the right.
        let goes_on = is_python && line.starts_with("    ");
        if !(is_pythons || goes_on || is_frame(line, lines.get(at + length + 1))) {
            break;
        }
        is_python = is_pythons || goes_on;
        length += 1;
    }
    length
}

/// Whether a line is of the stacks that Node.js, Java, .NET, Rust, Go and Ruby print.
fn is_frame(line: &str, next: Option<&&str>) -> bool {
    let words = line.trim_start();
    let is_indented = words.len() < line.len();
    let is_place_in_go = |line: &str| line.starts_with('\t') && line.contains(".go:");
    let is_numbered = words.split_once(": ").is_some_and(|(number, _)| {
        is_indented && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    let is_more = is_indented && words.starts_with("... ") && words.ends_with(" more");
    (is_indented && (words.starts_with("at ") || words.starts_with("from ")))
        || is_numbered
        || is_more
        || is_place_in_go(line)
        || next.is_some_and(|next| is_place_in_go(next))
        || (line.starts_with("goroutine ") && line.ends_with("]:"))
}

/// Whether a line says what went wrong, in the words in which runtimes and programs do: `Error: …`, `ModuleNotFoundError: …`,
/// `java.net.BindException: …`, `panic: …`, `thread 'main' panicked at …`, `[error] …`, `fatal: …`.
fn tells_an_error(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric());
    words.any(|word| {
        let word = word.to_ascii_lowercase();
        let ends = ["error", "exception"].iter().any(|end| word.ends_with(end));
        ends || ["panic", "panicked", "fatal", "cannot", "critical"].contains(&word.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, most: usize) -> Vec<String> {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim_end().is_empty()).collect();
        last_words(&lines, most)
    }

    /// A death, as it is printed behind a server's usual words: what tells it is kept, and so are the last lines.
    fn keeps(death: &str, told: &[&str]) {
        let usual = "loading\n".repeat(30);
        let words = words(&format!("{usual}{death}"), 15);
        assert!(words.len() <= 15, "{words:#?}");
        let last = death.lines().rfind(|line| !line.trim().is_empty());
        assert_eq!(words.last().map(String::as_str), last, "{words:#?}");
        for line in told {
            assert!(words.iter().any(|word| word == line), "{line} is not in {words:#?}");
        }
    }

    #[test]
    fn node_names_what_it_cannot_find() {
        let frames = "    at Module._load (node:internal/modules/cjs/loader:986:27)\n".repeat(12);
        let death = format!(
            "node:internal/modules/cjs/loader:1148\n  throw err;\n  ^\n\nError: Cannot find module 'expresss'\nRequire stack:\n\
             - /srv/missing.js\n{frames}    at node:internal/main/run_main_module:28:49 {{\n  code: 'MODULE_NOT_FOUND',\n  \
             requireStack: [ '/srv/missing.js' ]\n}}\n\nNode.js v20.11.0\n"
        );
        keeps(&death, &["Error: Cannot find module 'expresss'", "    [9 lines of the stack left out]"]);
    }

    #[test]
    fn python_java_go_and_rust_say_why_they_died() {
        let python =
            "  File \"/usr/lib/python3/site.py\", line 12, in load\n    import flask\n    ^^^^^^^^^^^^\n"
                .repeat(8);
        keeps(
            &format!(
                "Traceback (most recent call last):\n{python}ModuleNotFoundError: No module named 'flask'\n"
            ),
            &["ModuleNotFoundError: No module named 'flask'", "Traceback (most recent call last):"],
        );
        let java = "\tat org.example.Server.start(Server.java:41)\n".repeat(20);
        let thrown = "Exception in thread \"main\" java.lang.IllegalStateException: no server";
        let cause = "Caused by: java.net.BindException: Address already in use";
        keeps(&format!("{thrown}\n{java}{cause}\n{java}\t... 3 more\n"), &[thrown, cause]);
        let go = "net/http.(*conn).serve(0xc000)\n\t/usr/lib/go/net/http/server.go:2009 +0x5f4\n".repeat(12);
        let panic = "panic: listen tcp :8080: bind: address already in use";
        keeps(&format!("{panic}\n\ngoroutine 1 [running]:\n{go}exit status 2\n"), &[panic]);
        let rust =
            "   7: core::panicking::panic_fmt\n             at /rustc/library/core/src/panicking.rs:75:14\n"
                .repeat(12);
        let place = "thread 'main' panicked at src/main.rs:4:37:";
        keeps(
            &format!(
                "{place}\nno port: NotPresent\nstack backtrace:\n{rust}note: Some details are omitted.\n"
            ),
            &[place, "no port: NotPresent"],
        );
    }

    #[test]
    fn an_error_above_all_that_is_kept_takes_the_first_line() {
        let details = "  detail: 1\n".repeat(40);
        let told = words(&format!("Error: first\nError: bad config\n{details}done\n"), 5);
        assert_eq!(told, ["Error: bad config", "  detail: 1", "  detail: 1", "  detail: 1", "done"]);
        // What is kept tells an error itself, or nobody does: then it is the last lines.
        assert_eq!(words("Error: a\nb\nError: c\nd\n", 2), ["Error: c", "d"]);
        assert_eq!(words("a\nb\nc\n0 errors\n", 2), ["c", "0 errors"]);
        let short = "Error: x\n    at a (b.js:1:1)\n";
        assert_eq!(words(short, 2), ["Error: x", "    at a (b.js:1:1)"]);
    }
}
