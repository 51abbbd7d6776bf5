package ui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/ui/browser"
)

// rewrite writes steps as YAML in the browser and lets the server read them. It returns what differs.
const rewrite = `(async () => {
	const base = new URL('.', document.querySelector('script[src$="boot.js"]').src);
	const { Source, parse } = await import(new URL('workflow-text.js', base));
	const read = async text => parse(await (await fetch('/ui/objects/steps', {method: 'POST', body: new URLSearchParams({text})})).text());
	const out = [];
	for (const text of %s) {
		const steps = [{name: text || 'x', command: text, depends_on: [text, 'a'], retries: 2, continue_on_failure: true,
			extra_vars: {[text]: text, list: [1, text, {a: text}], nested: {b: {c: text}}, none: null, empty: {}, off: false}}];
		const written = new Source(['name', 'command']).write(steps), got = await read(written.text);
		if (JSON.stringify(got.steps?.[0]?.extra_vars?.nested) !== JSON.stringify(steps[0].extra_vars.nested) ||
			got.steps[0].command !== text || got.steps[0].extra_vars[text] !== text || got.steps[0].depends_on[0] !== text ||
			got.steps[0].extra_vars.list[2].a !== text || got.lines[0] !== 1) out.push(written.text + JSON.stringify(got));
	}
	const kept = '# all\n\n- name: a # the first\n  extra_vars: {n: 12345678901234567890, m: 1.0}\n# the second\n- name: b\n', got = await read(kept);
	const source = new Source(['name']);
	source.take(kept, got.steps, got.lines);
	out.push(source.write([got.steps[0], {...got.steps[0], name: 'c'}]).text);
	return out;
})()`

// TestWorkflowText checks that the text that the browser writes is read by the server as the same steps, and that steps
// that did not change keep their lines and their numbers.
func TestWorkflowText(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	p := browser.Start(t).Page(r.URL, r.Token)
	p.Open("/ui/objects/templates/new")
	texts := []string{"", " ", "on", "yes", "null", "~", "1", "-1.5e3", "0x1f", "2026-11-27", "a: b", "a #b", "- x",
		"#x", "|", ">", "'",
		`"`, `\`, "*a", "&a", "!t", "%", "@", "`", "{", "[", ",", "a,b", "a\nb", "a\nb\n", "a\n\n", "\na",
		"  a\n b", "a \n b", "\ta", "a\tb\n",
		"\u202egnp.exe", "<script>alert(1)</script>", "\u0085", "a\u0085\nb", "\x7f", "\ufeffa\n", "💥", "a\r\nb",
		"...", "---", "---\na\n",
		"<<", "? a", "=", "a ", "a:", "#!/bin/sh\nset -e\n\nif true; then\n\techo hi\nfi\n", strings.Repeat("x ", 300)}
	list, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	got := browser.Eval[[]string](p, fmt.Sprintf(rewrite, list))
	const want = "# all\n\n- name: a # the first\n  extra_vars: {n: 12345678901234567890, m: 1.0}\n# the second\n" +
		"- name: c\n  extra_vars:\n    m: 1.0\n    \"n\": 12345678901234567890\n"
	if last := got[len(got)-1]; last != want {
		t.Errorf("the text is\n%s\nwant\n%s", last, want)
	}
	for _, text := range got[:len(got)-1] {
		t.Errorf("read differently: %q", text)
	}
}

// graph checks what the editor does with steps, in the browser, and returns what is not as it should be.
const graph = `(async () => {
	const base = new URL('.', document.querySelector('script[src$="boot.js"]').src);
	const m = await import(new URL('workflow-model.js', base)), out = [];
	const show = steps => steps.map((s, i) => s.name + '<' + m.links(steps)[i].join('+')).join(' ');
	const is = (got, want) => { if (got !== want) out.push(got + ' is not ' + want); };
	const steps = (...list) => list.map(x => {
		const [name, after] = x.split('<');
		return after ? {name, depends_on: after.split('+')} : {name};
	});
	const line = steps('a', 'b', 'c');
	is(show(line), 'a< b<a c<b');
	is(show(m.add(line, 'b', false).steps), 'a< b<a step 4<b c<b');
	is(show(m.add(line, 'b', true).steps), 'a< step 4<a b<step 4 c<b');
	is(show(m.add([], '', false).steps), 'step 1<');
	is(m.link(line, 'c', 'a').refused, 'Not linked: it would run in a circle: a → b → c → a.');
	is(m.link(line, 'a', 'a').refused, 'Not linked: it would run in a circle: a → a.');
	is(m.link(line, 'a', 'x').refused, 'Not linked: no step is named x.');
	is(m.link(line, 'a', 'b').refused, 'b runs after a already.');
	is(show(m.link(line, 'a', 'c').steps), 'a< b<a c<b+a');
	is(show(m.unlink(line, 'b', 'c').steps), 'a< b<a c<');
	is(m.unlink(steps('a', 'b'), 'a', 'b').refused.slice(0, 38), 'Not removed: one link has to stay. Ste');
	is(show(m.remove(line, 'b').steps), 'a< c<a');
	is(m.remove(steps('a', 'b<a', 'c<a'), 'a').note, 'a is removed. No step has a link now, so they run one after the other.');
	is(show(m.rename(line, 'b', ' x ').steps), 'a< x<a c<x');
	is(show(m.rename(steps('a', 'b<a'), 'a', 'z').steps), 'z< b<z');
	is(m.rename(line, 'b', 'c').refused, 'Not renamed: another step is named c.');
	is(m.rename(line, 'b', ' ').refused, 'Not renamed: a step has to have a name.');
	is(JSON.stringify(m.set(line, 'a', 'limit', 'web').steps[0]), '{"name":"a","limit":"web"}');
	is(m.set(line, 'a', 'limit', undefined).steps, line);
	is(m.problems(steps('a<c', 'b<a', 'c<b+y', 'a')).map(p => p.step + ' ' + p.message).join('; '),
		'0 would run in a circle: a → b → c → a; 2 no step is named y; 3 another step has this name too');
	is(m.diff(steps('a', 'b<a', 'c<b'), steps('a', 'b<a', 'd<b')).join('; '), 'Added: d; Removed: c');
	is(m.diff([{name: 'a', limit: 'x', tags: ['t']}], [{tags: ['t'], retries: 1, name: 'a'}]).join('; '), 'Changed: a (limit, retries)');
	is(m.diff(line, steps('b', 'a', 'c')).join('; '), 'Changed: the order of the steps');
	return out;
})()`

// TestWorkflowModel checks the changes that the editor makes of steps.
func TestWorkflowModel(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	p := browser.Start(t).Page(r.URL, r.Token)
	p.Open("/ui/objects/templates/new")
	for _, text := range browser.Eval[[]string](p, graph) {
		t.Error(text)
	}
}
