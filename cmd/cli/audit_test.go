package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/proof"
)

// The bundles are those of the vectors, which every verifier is tested with.
const (
	vectors   = "../../ports/proof/testdata/bundles"
	vectorKey = "audit.example.org/in_test/e1+c2f7f880+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"
	otherKey  = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
	rootAt7   = "UKhRu3WE51MQ9F7hjPA7WfXjBGGRz2bSyL25mxEeBgU="
)

func vector(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(vectors, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func callAudit(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(t.Context(), environment{out: &o, err: &e, in: strings.NewReader(in)},
		append([]string{"audit", "verify"}, args...))
	return code, o.String(), e.String()
}

func TestAuditVerifyExitCodes(t *testing.T) {
	t.Parallel()
	whole, window := vector(t, "whole.json"), vector(t, "window.json")
	swap := func(old, replacement string) string {
		out := strings.Replace(whole, old, replacement, 1)
		if out == whole {
			t.Fatalf("no %q in the vector", old)
		}
		return out
	}
	for name, c := range map[string]struct {
		in   string
		args []string
		code int
		last string
	}{
		"pinned": {whole, []string{"--key", vectorKey}, 0,
			"Verified: 12 entries of a chain of 12, unchanged since a trusted key signed them."},
		"a window":    {window, []string{"--key", vectorKey}, 0, "Verified: 5 entries of a chain of 12"},
		"from a head": {window, []string{"--key", vectorKey, "--from", "7:" + rootAt7}, 0, "Verified: "},
		"not pinned":  {whole, nil, 3, "Intact, but unproven: "},
		"an edited entry": {swap("usr_1", "usr_2"), []string{"--key", vectorKey}, 1,
			"Not verified: the chain is broken, at position 2, which claims to be entry 2."},
		"an edit, unpinned": {swap("usr_1", "usr_2"), nil, 1, "Not verified: the chain is broken"},
		"another head": {whole, []string{"--from", "8:" + rootAt7}, 1,
			"Not verified: the entries are consistent with each other, but not with a head that was recorded earlier."},
		"a later head": {whole, []string{"--from", "13:" + rootAt7}, 1,
			"Not verified: the entries are consistent with each other, but not"},
		"a head unshown": {window, []string{"--from", "3:" + rootAt7}, 1,
			"Not verified: a proof is invalid or missing, or a part of the file does not match what was signed."},
		"another signature": {swap("wvf4gDLx", "wvf4gDLy"), nil, 1, "Not verified: a signature is invalid or missing."},
		"a cut file": {whole[:len(whole)/2], nil, 1,
			"Not verified: the file is not a well-formed bundle or receipt, or it is truncated."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := callAudit(t, c.in, append(c.args, "-")...)
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			if code != c.code || errs != "" || !strings.HasPrefix(lines[len(lines)-1], c.last) ||
				!strings.Contains(out, "not checked") {
				t.Errorf("exit %d, %q\n%s", code, errs, out)
			}
			path := filepath.Join(t.TempDir(), "bundle.json")
			if err := os.WriteFile(path, []byte(c.in), 0o600); err != nil {
				t.Fatal(err)
			}
			if again, same, _ := callAudit(t, "", append(c.args, path)...); again != code || same != out {
				t.Errorf("from a file: exit %d\n%s", again, same)
			}
			again, doc, _ := callAudit(t, c.in, append(c.args, "--json", "-")...)
			var v proof.Verdict
			if err := json.Unmarshal([]byte(doc), &v); err != nil || again != code || v.OK != (code != 1) ||
				len(v.NotChecked) < 8 {
				t.Errorf("--json: exit %d, %v\n%s", again, err, doc)
			}
		})
	}
}

func TestAuditVerifyUsage(t *testing.T) {
	t.Parallel()
	whole := vector(t, "whole.json")
	for _, a := range [][]string{
		{"--key", otherKey}, {"--seal", "x"}, {"-", "--db", "x"}, {"-", "--seal", "/nowhere"},
		{"-", "--seal", "audit_test.go"}, {"-", "--pin", "audit_test.go"}, {"-", "-"}, {"/nowhere/at/all"}, {t.TempDir()},
		{"-", "--key", "nonsense"}, {"-", "--key", otherKey}, {"-", "--from", "7"}, {"-", "--from", "x:" + rootAt7},
		{"-", "--from", "-1:" + rootAt7}, {"-", "--from", "7:AAAA"}, {"-", "--what"},
	} {
		if code, out, errs := callAudit(t, whole, a...); code != exitUsage || out != "" ||
			!strings.HasPrefix(errs, "writ: ") {
			t.Errorf("%q: exit %d, %q, %q", a, code, out, errs)
		}
	}
	for _, in := range []string{"", "PK\x03\x04", "{}", strings.Replace(whole, `"v":1`, `"v":2`, 1)} {
		if code, out, errs := callAudit(t, in, "-"); code != exitUsage || out != "" ||
			!strings.Contains(errs, "neither a bundle nor a receipt of version 1") {
			t.Errorf("%.8q: exit %d, %q, %q", in, code, out, errs)
		}
	}
}

// TestAuditVerifyPrintsNothingHostile puts controls of terminals wherever a file and a command line have text.
func TestAuditVerifyPrintsNothingHostile(t *testing.T) {
	t.Parallel()
	whole := vector(t, "whole.json")
	const evil = "\\u001b]0;x\\u0007\u202e\x7f"
	for _, in := range []string{
		strings.Replace(whole, "usr_1", evil, 1), strings.Replace(whole, `"id":"anc_4`, `"id":"`+evil, 1),
		strings.Replace(whole, "head_file", evil, 1),
		strings.Replace(whole, `"origin":"`, `"origin":"`+evil, 1), strings.Replace(whole, `"kid":"`, `"kid":"`+evil, 1),
		strings.Replace(whole, `— audit`, `— `+evil, 1),
		strings.Replace(whole, `"keyid":"`, `"keyid":"`+evil, 1), strings.Replace(whole, `"alg":"`, `"`+evil+`":"`, 1),
	} {
		if in == whole {
			t.Fatal("nothing was changed")
		}
		code, out, errs := callAudit(t, in, "-")
		if code != exitFailed || strings.ContainsAny(out+errs, "\x1b\a\u202e\x7f") {
			t.Errorf("exit %d, %q, %q", code, out, errs)
		}
	}
	if code, out, errs := callAudit(t, whole, "\x1b[2Jbundle"); code != exitUsage || strings.Contains(out+errs, "\x1b") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

// TestAuditVerifyOfARun: a run in place of a file stands for its receipt, unless a file has that name.
func TestAuditVerifyOfARun(t *testing.T) {
	t.Parallel()
	receipt, err := os.ReadFile(filepath.Join(vectors, "..", "receipts", "good", "contiguous.json"))
	if err != nil {
		t.Fatal(err)
	}
	const id = "run_01m7yhrqq9d6r0e7tgwpwzadbc"
	f := newFakeServer(t, obj{"id": id}).with(obj{"/v1/runs/" + id + "/receipt": json.RawMessage(receipt)})
	for _, run := range []string{"latest", id} {
		code, out, errs := call(t, f, "audit", "verify", run, "--key", vectorKey)
		if code != exitDone || !strings.Contains(out, "Verified: ") {
			t.Errorf("%s: exit %d, %s%s", run, code, out, errs)
		}
	}
	for _, a := range [][]string{
		{"verify", "run_01m7yhrqq9d6r0e7tgwpwzadbd"}, {"verify", "run_1"}, {"receipt", "latest"},
	} {
		if code, out, errs := call(t, f, append([]string{"audit"}, a...)...); code != exitUsage || out != "" {
			t.Errorf("%q: exit %d, %s%s", a, code, out, errs)
		}
	}
}
