package inventory_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/inventory"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector returns a Collector, and checks at the end of the test that its private directories were removed.
func collector(t *testing.T, change func(*inventory.Config)) *inventory.Collector {
	t.Helper()
	c := inventory.Config{TempDir: t.TempDir(), AllowPrograms: true}
	if change != nil {
		change(&c)
	}
	t.Cleanup(func() {
		if left, err := os.ReadDir(c.TempDir); err != nil || len(left) > 0 {
			t.Errorf("%v is left: %v", left, err)
		}
	})
	return inventory.New(c)
}

// collect collects and fails the test on error.
func collect(t *testing.T, k *inventory.Collector, c catalog.Collection) (string, catalog.Format) {
	t.Helper()
	content, format, err := k.Collect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return string(content), format
}

// refused requires a collection to fail with one sentence that contains the phrases and no canary. It returns the
// error.
func refused(t *testing.T, k *inventory.Collector, c catalog.Collection, phrases ...string) error {
	t.Helper()
	content, _, err := k.Collect(t.Context(), c)
	var f *fault.Error
	if !errors.As(err, &f) || !catalog.RefreshFailed.Is(err) || content != nil {
		t.Errorf("%d bytes, %v", len(content), err)
		return err
	}
	if f.Message == "" || len(f.Message) > 4096 || strings.ContainsAny(f.Message, "\n\r\x1b") ||
		strings.Contains(err.Error(), "c4nary") ||
		strings.Contains(f.Message, "writ-source-") {
		t.Errorf("no sentence: %q", err)
	}
	for _, phrase := range phrases {
		if !strings.Contains(f.Message, phrase) {
			t.Errorf("%q does not say %q", f.Message, phrase)
		}
	}
	return err
}

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// ansibleInventory returns Ansible's own output for an inventory.
func ansibleInventory(t *testing.T, path string, env ...string) map[string]any {
	t.Helper()
	cmd := exec.Command("ansible-inventory", "-i", path, "--list", "--export")
	cmd.Dir = filepath.Dir(path)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C.UTF-8", "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=1",
		"ANSIBLE_CONFIG=" + empty(t),
	}, env...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("ansible-inventory: %s", exit.Stderr)
		}
		t.Fatal("ansible-inventory has to be installed: ", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	dec.UseNumber()
	var w map[string]any
	if err := dec.Decode(&w); err != nil {
		t.Fatal(err)
	}
	return w
}

func empty(t *testing.T) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), "ansible.cfg"), "", 0o600)
}
