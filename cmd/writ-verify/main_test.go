package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/proof/keys"
)

const (
	files = "../../ports/proof/testdata"
	vkey  = "audit.example.org/in_test/e1+c2f7f880+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(files, "bundles", "whole.json")
	doc, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, bytes.Replace(doc, []byte("applied"), []byte("denied"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	stranger, err := keys.Generate(keys.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	other, err := keys.NewKey(stranger.Public(), keys.Checkpoint, "audit.example.org/in_test/e1")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args string
		code int
		last string
	}{
		"verified":    {"-key " + vkey + " " + whole, 0, "Verified: 12 entries"},
		"unpinned":    {whole, 3, "Intact, but unproven"},
		"standard in": {"-", 3, "Intact, but unproven"},
		"broken":      {"-key " + vkey + " " + broken, 1, "Not verified: the chain is broken"},
		"another key": {"-key " + other.VKey + " " + whole, 1, "Not verified: it is not signed by a trusted key"},
		"another head": {"-from 12:" + strings.Repeat("A", 43) + "= " + whole, 1,
			"Not verified: the entries are consistent with each other, but not"},
		"receipt":       {filepath.Join(files, "receipts", "good", "sparse.json"), 3, "Intact, but unproven"},
		"no file":       {"", 2, ""},
		"missing file":  {whole + ".gone", 2, ""},
		"no such flag":  {"-x " + whole, 2, ""},
		"no such key":   {"-key x " + whole, 2, ""},
		"no such head":  {"-from 1 " + whole, 2, ""},
		"no such roots": {"-tsa-roots " + whole + " " + whole, 2, ""},
	} {
		var out, problems strings.Builder
		code := run(strings.Fields(c.args), bytes.NewReader(doc), &out, &problems)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if code != c.code || !strings.HasPrefix(lines[len(lines)-1], c.last) || (code == 2) != (problems.Len() > 0) {
			t.Errorf("%s: %d\n%s%s", name, code, out.String(), problems.String())
		}
	}
}
