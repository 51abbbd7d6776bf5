package anchor

import (
	"strconv"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/audit/audittest"
)

// published is a note of three entries from the audit trail's vectors.
const published = "audit.example.org/in_test/e1\n3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n\n" +
	"\u2014 audit.example.org/in_test/e1 " +
	"wvf4gPYwDYJ9N1+JtbzMhvhJI1+GqrdVyp4sG14EcXvbV6K12oMJROqwIZ3p0wwbZATQipxIci1VSCeajMkTV8z27Ak=\n"

func TestPublishedNoteIsRead(t *testing.T) {
	t.Parallel()
	for _, note := range []string{published, published + strings.SplitAfter(published, "\n\n")[1],
		published + "\u2014 w.example/\u00e4 AAAAAAAA\n"} {
		if h, err := parseHead(note); err != nil || h != (head{origin: "audit.example.org/in_test/e1", size: 3}) {
			t.Errorf("%+v, %v", h, err)
		}
	}
}

// FuzzHead reads any bytes: an accepted head has one form, so its first lines can be formatted again.
func FuzzHead(f *testing.F) {
	for _, seed := range []string{
		published, audittest.Note("a/b", 0, 0), audittest.Note("a/b", 1<<53-1, 255), "", "\n\n",
		"a\n1\n\n\n\u2014 a AAAAAAAA\n",
		strings.Replace(published, "\n3\n", "\n03\n", 1), strings.ReplaceAll(published, "\n", "\r\n"), published + published,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, note string) {
		h, err := parseHead(note)
		if err != nil {
			if h != (head{}) {
				t.Errorf("%+v of what is no head: %v", h, err)
			}
			return
		}
		lines := strings.SplitN(note, "\n", 5)
		if lines[0] != h.origin || lines[1] != strconv.FormatInt(h.size, 10) || lines[3] != "" || h.size < 0 ||
			h.size > maxSize {
			t.Fatalf("%+v of %q", h, note)
		}
		again := strings.Join(append(lines[:4:4], "\u2014 x "+"AAAAAAAA", ""), "\n")
		if other, err := parseHead(again); err != nil || other != h {
			t.Fatalf("%+v, %v of %q", other, err, again)
		}
	})
}
