package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func text(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestAuditPin(t *testing.T) {
	t.Parallel()
	whole, pins := vector(t, "whole.json"), filepath.Join(t.TempDir(), "known_logs")
	for i, want := range []int{exitUnpinned, 0, 0} {
		code, out, errs := callAudit(t, whole, "-", "--pin", pins)
		if code != want || errs != "" {
			t.Errorf("call %d: exit %d, %q\n%s", i, code, errs, out)
		}
	}
	first := text(t, pins)
	// If that head is further on, a window does not prove that the log extends it: nothing is recorded then.
	if code, out, errs := callAudit(t, vector(t, "window.json"), "-", "--pin", pins); code != 0 || errs != "" ||
		text(t, pins) != first {
		t.Errorf("exit %d, %q\n%s", code, errs, out)
	}
	// The same size with another root: both heads are kept, once.
	forked := strings.ReplaceAll(first, " 12 OK", " 12 OL")
	if err := os.WriteFile(pins, []byte(forked), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		code, out, errs := callAudit(t, whole, "-", "--pin", pins)
		if code != exitFailed || errs != "" ||
			!strings.HasSuffix(out,
				"two histories of one log are signed. Keep this file, the pins and the seal: together they are the proof.\n") ||
			text(t, pins) != forked {
			t.Errorf("exit %d, %q\n%s", code, errs, out)
		}
	}
	if kept := text(t, pins+".conflict"); strings.Count(kept, "# Two histories of ") != 1 ||
		!strings.Contains(kept, "\nOLcjewPj") || !strings.Contains(kept, "\nOKcjewPj") ||
		!strings.Contains(kept, "\n— audit.example.org") {
		t.Errorf("%s", kept)
	}
	code, out, _ := callAudit(t, whole, "-", "--pin", pins, "--json")
	if code != exitFailed || !strings.Contains(out, `"conflict": [`) || !strings.Contains(out, `"kind": "pin"`) {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestAuditPinThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	whole := vector(t, "whole.json")
	for name, path := range map[string]string{
		"corrupt": written(t, "known_logs", "nonsense\n"), "cut off": written(t, "known_logs", "a/b"),
		"a folder": t.TempDir(), "too large": written(t, "known_logs", strings.Repeat("#\n", 1<<20)),
	} {
		if code, out, errs := callAudit(t, whole, "-", "--pin", path); code != exitUsage || out != "" ||
			!strings.HasPrefix(errs, "writ: ") {
			t.Errorf("%s: exit %d, %q\n%s", name, code, errs, out)
		}
	}
	// A head that cannot be recorded is reported after the verdict and does not change it.
	code, out, errs := callAudit(t, whole, "-", "--pin", filepath.Join(t.TempDir(), "gone", "known_logs"))
	if code != exitUsage || !strings.Contains(out, "Intact, but unproven") || !strings.HasPrefix(errs, "writ: --pin: ") {
		t.Errorf("exit %d, %q\n%s", code, errs, out)
	}
	for _, flag := range []string{"--pin", "--seal", "--from"} {
		if code, out, errs := callAudit(t, whole, "-", flag, ""); code != exitUsage || out != "" ||
			!strings.Contains(errs, flag+" is empty") {
			t.Errorf("%s: exit %d, %q\n%s", flag, code, errs, out)
		}
	}
	for _, flag := range []string{"--db", "--data-dir", "--config", "--signing-key-file"} {
		if code, _, errs := callAudit(t, whole, "-", flag, "x"); code != exitUsage ||
			!strings.Contains(errs, "give a file or --db") {
			t.Errorf("%s: exit %d, %q", flag, code, errs)
		}
	}
}

// TestAuditPinIsWrittenByOneAtATime lets commands record different heads at once: no record is lost, and a command that
// recorded nothing reports it.
func TestAuditPinIsWrittenByOneAtATime(t *testing.T) {
	t.Parallel()
	path := written(t, "known_logs", "# 0\n")
	const n = 16
	var wg sync.WaitGroup
	failed := make(chan error, n)
	for range n {
		wg.Go(func() {
			for {
				read, err := small(path)
				if err == nil {
					err = remember(path, read, func(known []byte) ([]byte, error) {
						return append(bytes.Clone(known), "# x\n"...), nil
					})
				}
				if errors.Is(err, errMoved) {
					continue
				}
				if err != nil {
					failed <- err
				}
				return
			}
		})
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	if got := text(t, path); strings.Count(got, "# x\n") != n {
		t.Errorf("%q", got)
	}
}

// TestWriteFileReplacesFilesAlone writes to a path that is not a regular file: it is not replaced.
func TestWriteFileReplacesFilesAlone(t *testing.T) {
	t.Parallel()
	fill := func(to io.Writer) error { _, err := io.WriteString(to, "new"); return err }
	target := written(t, "target", "old")
	link := filepath.Join(filepath.Dir(target), "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	piped := make(chan string, 1)
	go func() {
		raw, _ := os.ReadFile(pipe)
		piped <- string(raw)
	}()
	for _, name := range []string{link, pipe} {
		if err := writeFile(environment{}, name, fill); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || text(t, target) != "new" {
		t.Errorf("%v, %v: %q", info, err, text(t, target))
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 || <-piped != "new" {
		t.Errorf("%v, %v", info, err)
	}
	for name, path := range map[string]string{"a folder": t.TempDir(),
		"no folder": filepath.Join(t.TempDir(), "gone", "x")} {
		if err := writeFile(environment{}, path, fill); err == nil {
			t.Errorf("%s is written to", name)
		}
	}
	broken := syscall.ENOSPC // as of a full disk
	if err := writeFile(environment{}, target, func(to io.Writer) error {
		return errors.Join(fill(to), broken)
	}); !errors.Is(err, broken) || text(t, target) != "new" {
		t.Errorf("%v: %q", err, text(t, target))
	}
	if left, err := os.ReadDir(filepath.Dir(target)); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestAuditVerifyOfOtherFiles verifies files that users mistake for a bundle (A29).
func TestAuditVerifyOfOtherFiles(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"PK\x03\x04" + strings.Repeat("\x00", 1<<20):              "unzip it and follow its VERIFY.txt",
		"PK\x03\x04..../../../etc/passwd":                         "unzip it",
		`{"checkpoint":"a/b\n"}`:                                  "pass it with --seal",
		strings.Repeat("\x00", 1<<20):                             "neither a bundle nor a receipt",
		"<!doctype html><script>alert(1)</script>":                "neither a bundle nor a receipt",
		`{"error":"no such run","reason":"run_not_found"}` + "\n": "neither a bundle nor a receipt",
	} {
		if code, out, errs := callAudit(t, in, "-"); code != exitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%.20q: exit %d, %q, %q", in, code, out, errs)
		}
	}
	zeros := filepath.Join(t.TempDir(), "zeros.zip")
	f, err := os.Create(zeros)
	if err == nil {
		err = errors.Join(f.Truncate(10<<30), f.Close()) // sparse
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, _, errs := callAudit(t, "", zeros); code != exitUsage {
		t.Errorf("exit %d, %q", code, errs)
	}
	endless := io.MultiReader(strings.NewReader(`{"payload":"`), zero{})
	var out, errs bytes.Buffer
	if code := execute(t.Context(), environment{out: &out, err: &errs, in: endless},
		[]string{"audit", "verify", "-"}); code != exitUsage {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'A'
	}
	return len(p), nil
}
