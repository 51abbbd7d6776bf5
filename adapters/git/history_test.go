package git_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/catalog"
)

// TestCommits compares commits of one branch in both directions, branches, tags and names that do not exist.
func TestCommits(t *testing.T) {
	t.Parallel()
	const epoch = 1_700_000_000
	w := newFixture(t, nil)
	r := w.repo("a")
	first := w.fetch(r.at("p1"))
	r.git("tag", "v1")
	var stream strings.Builder
	for i := range catalog.MaxCommits + 2 {
		message := fmt.Sprintf("change %d \x1b[31m%s\n\nmore\n", i, strings.Repeat("x", 300))
		fmt.Fprintf(&stream, "commit HEAD\ncommitter Ada <a@example.org> %d +0200\ndata %d\n%s", epoch+i, len(message),
			message)
		if i == 0 {
			fmt.Fprintf(&stream, "from %s\n", first)
		}
	}
	r.feed(stream.String(), "fast-import", "--quiet", "--force")
	at := r.at("p1")
	last := w.fetch(at)
	log := func(from, to string) catalog.CommitLog {
		t.Helper()
		l, err := w.Commits(t.Context(), at, last, from, to)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := log("v1", "")
	if l.From != first || l.To != last || l.Total != catalog.MaxCommits+2 || len(l.Commits) != catalog.MaxCommits ||
		l.Missing != 0 {
		t.Errorf("%s to %s: %d of %d, %d are missing", l.From, l.To, len(l.Commits), l.Total, l.Missing)
	}
	newest := l.Commits[0]
	if newest.ID != last || newest.Author != "Ada" || newest.At.Unix() != epoch+catalog.MaxCommits+1 ||
		utf8.RuneCountInString(newest.Subject) > 200 ||
		!strings.HasPrefix(newest.Subject, fmt.Sprintf("change %d ", catalog.MaxCommits+1)) ||
		strings.ContainsAny(newest.Subject, "\x1b\n") {
		t.Errorf("the newest one is %+v", newest)
	}
	if l := log(last, first); l.Total != 0 || len(l.Commits) != 0 || l.Missing != catalog.MaxCommits+2 {
		t.Errorf("backwards: %+v", l)
	}
	if l := log(last[:12], last); l.Total != 0 || l.Missing != 0 {
		t.Errorf("with itself: %+v", l)
	}
	for _, bad := range []struct{ from, to, field string }{
		{"", "", "from"}, {"--all", "", "from"}, {"v1", "a..b", "to"}, {"v1^{/x}", "", "from"},
	} {
		if _, err := w.Commits(t.Context(), at, last, bad.from, bad.to); field(err) != bad.field {
			t.Errorf("%q to %q: %v", bad.from, bad.to, err)
		}
	}
	for _, none := range [][2]string{{"none", ""}, {"v1", "none"}, {"abcdef1", ""}} {
		if _, err := w.Commits(t.Context(), at, last, none[0], none[1]); !catalog.FileNotFound.Is(err) {
			t.Errorf("%q: %v", none, err)
		}
	}
	if _, err := w.Commits(t.Context(), at, last, "v1", strings.Repeat("0", 40)); !catalog.CommitNotFound.Is(err) {
		t.Error(err)
	}
}
