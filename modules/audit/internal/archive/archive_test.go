package archive

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/proof/keys"
)

// TestInstructionsNameWhatIsThere compares the versions in the text with the module, and the steps with the files.
func TestInstructionsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"github.com/transparency-dev/merkle " + merkleVersion,
		"golang.org/x/mod " + modVersion} {
		if !strings.Contains(string(mod), want) {
			t.Errorf("go.mod has another version than %s", want)
		}
	}
	text := Instructions(Head{Anchors: []Anchor{{ID: "anc_1", Token: []byte{1}}, {ID: "anc_2"}},
		Remarks: []string{"Something is left out."}})
	for _, want := range []string{"## step files:", "## step signature:", "## step fsck:", "## step go:",
		"## step time-anc_1:", "anchors/anc_1.tsr", "@" + modVersion, "# Something"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(text, "anc_2") || strings.Contains(text, "@MERKLE") {
		t.Errorf("%s", text)
	}
}

// TestIDsAreNoPaths refuses an anchor whose id would leave the directory or be a command in VERIFY.txt.
func TestIDsAreNoPaths(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"../x", "", "a b", "$(x)", "a\nb"} {
		if _, err := NewWriter(io.Discard, Head{Anchors: []Anchor{{ID: id, Note: "x"}}}); !keys.FormatInvalid.Is(err) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
