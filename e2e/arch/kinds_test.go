package arch

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/secrets"
)

// TestCredentialPage compares the table in docs/reference/credentials.md with the members of the kinds.
func TestCredentialPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| Kind | Member | | Type | |\n|---|---|---|---|---|\n")
	for _, k := range secrets.Kinds() {
		for _, m := range k.Members() {
			fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", k, m.Name, part(m), m.Type, m.Doc)
		}
	}
	section(t, "docs/reference/credentials.md", "credential-kinds", b.String())
}

// part returns the place of a member in a request, and whether a credential needs the member.
func part(m secrets.Member) string {
	switch {
	case m.Secret && m.Required:
		return "secret, required"
	case m.Secret:
		return "secret"
	default:
		return "setting"
	}
}

// TestNotificationPage compares the table in docs/reference/notifications.md with the kinds of targets, and the kinds
// with the names that are reserved from notifiers of extensions.
func TestNotificationPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| Kind | Requires | Hears of | Flag | What is sent |\n|---|---|---|---|---|\n")
	var names []string
	for _, k := range notify.Kinds() {
		names = append(names, k.Name)
		hears := "every end, holds and new drift"
		if k.Incident {
			hears = "failed and interrupted runs"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | `--notify-%s %s` | %s |\n", k.Name, strings.Join(k.Required, "`, `"), hears,
			k.Name,
			strings.ToUpper(strings.Join(k.Required, ",")), k.Doc)
	}
	section(t, "docs/reference/notifications.md", "notification-kinds", b.String())
	if have, want := strings.Join(extension.NotificationKinds(), " "), strings.Join(names, " "); have != want {
		t.Errorf("rule %q: ports/extension reserves %q\n\twhy: the kinds are %q", "reserved names", have, want)
	}
}

var warningCode = regexp.MustCompile(`\bWarn\w+ *= "(\w+)"`)

// TestGuidesKnowEveryKind checks that the guides describe each kind of credential and of target and each warning of a
// run, and have a section for each secret engine.
func TestGuidesKnowEveryKind(t *testing.T) {
	t.Parallel()
	want := map[string][]string{}
	for _, k := range secrets.Kinds() {
		want["docs/guides/credentials.md"] = append(want["docs/guides/credentials.md"], fmt.Sprintf("| `%s` |", k),
			fmt.Sprintf(`"kind": "%s"`, k))
	}
	for _, k := range notify.Kinds() {
		want["docs/guides/notifications.md"] = append(want["docs/guides/notifications.md"], fmt.Sprintf("| `%s` |", k.Name),
			fmt.Sprintf(`"kind": "%s"`, k.Name))
	}
	for _, name := range extension.BuiltinEngines() {
		want["docs/guides/secret-engines.md"] = append(want["docs/guides/secret-engines.md"], "\n## `"+name+"`\n",
			fmt.Sprintf(`"engine": "%s"`, name))
	}
	for _, file := range []string{"ports/runs/run.go", "modules/runs/internal/parent/merge.go"} {
		for _, m := range warningCode.FindAllStringSubmatch(tree(t).text(t, file), -1) {
			want["docs/guides/runs.md"] = append(want["docs/guides/runs.md"], "`"+m[1]+"`")
		}
	}
	for page, texts := range want {
		have := tree(t).text(t, page)
		for _, text := range texts {
			if !strings.Contains(have, text) {
				t.Errorf("rule %q: %s has no %q\n\twhy: what can be said has to be found", "complete guides", page, text)
			}
		}
	}
}
