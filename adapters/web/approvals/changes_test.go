package approvals

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

func event(host, resource, diff string) runs.Event {
	return runs.Event{Type: runs.EventHostOK, Host: host, Task: "Copy", Resource: resource, Changed: true,
		Diff: json.RawMessage(diff)}
}

// TestGrouped checks that identical changes are one group, also those that differ in the name of the host alone.
func TestGrouped(t *testing.T) {
	t.Parallel()
	const old, fresh = `[{"before":"a\nb\nc\n","after":"a\nB\nc\n"}]`, `[{"before":"","after":"new\n"}]`
	v := grouped([]runs.Event{
		event("web1", "copy /etc/web1.pem", old),
		event("web2", "copy /etc/web2.pem", strings.Replace(old, "{", `{"after_header":"/tmp/x2",`, 1)),
		event("web3", "copy /etc/web3.pem", old), event("web3", "copy /etc/motd", fresh),
		event("web3", "copy /etc/motd", fresh),
		{Host: "web4", Changed: true}, {Host: "web5", Diff: json.RawMessage(old)},
	})
	if len(v.groups) != 2 || v.hosts != 3 || v.odd != 1 || v.more != 0 {
		t.Fatalf("%+v", v)
	}
	first := v.groups[0]
	if first.what != "copy /etc/(host).pem" || strings.Join(first.hosts, " ") != "web1 web2 web3" {
		t.Errorf("%+v", first)
	}
	if got := first.lines; len(got) != 2 || got[0] != (line{false, "b"}) || got[1] != (line{true, "B"}) {
		t.Errorf("%+v", got)
	}
}

// TestGroupedBounds checks that many groups and long differences are cut, and that what is no difference has no lines.
func TestGroupedBounds(t *testing.T) {
	t.Parallel()
	var all []runs.Event
	for _, r := range strings.Split("abcdefghijk", "") {
		all = append(all, event("h1", r, `{"prepared":"--- x\n+++ y\n@@\n`+strings.Repeat(`+line\n-line\n`, 20)+`"}`))
	}
	v := grouped(append(all, event("h1", "none", `7`), event("h1", "tree", `{"before":{"mode":1},"after":{"mode":2}}`)))
	if len(v.groups) != maxGroups || v.more != len(all)+2-maxGroups || v.odd != 0 {
		t.Errorf("%d groups, %d more, %d odd", len(v.groups), v.more, v.odd)
	}
	if first := v.groups[0]; len(first.lines) != maxLines || !first.cut || !first.lines[0].added {
		t.Errorf("%+v", first)
	}
	if lines := differences(json.RawMessage(`{"before":{"mode":1},"after":{"mode":2}}`)); len(lines) != 2 {
		t.Errorf("%v", lines)
	}
}
