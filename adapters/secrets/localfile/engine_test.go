package localfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/secrets/localfile"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func at(path any) map[string]any { return map[string]any{"path": path} }

// files makes a directory of secret files and one with a file that must not be read, and returns both.
func files(t *testing.T) (dir, outside string) {
	t.Helper()
	top := t.TempDir()
	dir, outside = filepath.Join(top, "secrets"), filepath.Join(top, "secrets-of-others")
	for path, text := range map[string]string{
		filepath.Join(dir, "plain"): "c4nary plain\n", filepath.Join(dir, "deep", "er", "key"): "c4nary key",
		filepath.Join(outside, "key"): "c4nary outside",
		filepath.Join(dir, "lines"):   "c4nary\r\nlines\n\r\n", filepath.Join(dir, "empty"): "",
		filepath.Join(dir, "binary"): "c4nary\xff\xfe",
		filepath.Join(dir, "most"):   strings.Repeat("x", 1<<20), filepath.Join(dir, "more"): strings.Repeat("x", 1<<20+1),
		filepath.Join(dir, "..data", "mounted"): "c4nary mounted\n", filepath.Join(dir, "a\nb"): "c4nary odd",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"mounted": "..data/mounted", "out": outside + "/key", "up": "../secrets-of-others/key", "folder": outside,
		"loop": "loop", "self": dir + "/plain",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, outside
}

func engine(t *testing.T, dir string) *localfile.Engine {
	t.Helper()
	e, err := localfile.New(localfile.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEngineKeepsTheContract(t *testing.T) {
	t.Parallel()
	dir, outside := files(t)
	missing := map[string]map[string]any{}
	for _, path := range []string{
		"none", "deep", "deep/none", "plain/none", "pipe", "binary", "more", "out", "up", "folder/key", "loop", "self",
		strings.Repeat("x", 300),
	} {
		missing[path] = at(path)
	}
	extensiontest.SecretResolver{
		Resolver: engine(t, dir), Want: "c4nary plain",
		Configs: extensiontest.SecretConfigs{
			Good: at("plain"), Missing: missing, Secrets: []string{"c4nary"},
			Bad: map[string][]map[string]any{"path": {
				at("../secrets-of-others/key"), at(outside + "/key"), at("/etc/passwd"), at("deep/../../secrets-of-others/key"),
				at(dir + "/../secrets-of-others/key"),
				at("."), at("deep/.."), at("/"), at(dir), at("a\x00b"), at("a\xff"), at(strings.Repeat("x/", 1<<12)), at(7.0),
			}},
		},
	}.Run(t)
}

func TestEngineReads(t *testing.T) {
	t.Parallel()
	dir, _ := files(t)
	for path, want := range map[string]string{
		"deep/er/key": "c4nary key", "./deep//er/../er/key": "c4nary key", dir + "/plain": "c4nary plain",
		"lines": "c4nary\r\nlines\n", "empty": "",
		"most": strings.Repeat("x", 1<<20), "mounted": "c4nary mounted", "a\nb": "c4nary odd",
	} {
		if got, err := engine(t, dir).Resolve(t.Context(), at(path)); err != nil || got != want {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
	}
}

func TestNothingIsAllowedWithoutADirectory(t *testing.T) {
	t.Parallel()
	dir, _ := files(t)
	none := engine(t, "")
	for _, path := range []string{"plain", dir + "/plain", "/etc/hostname"} {
		if value, err := none.Resolve(t.Context(), at(path)); err == nil || value != "" ||
			none.ValidateConfig(at(path)) == nil {
			t.Errorf("%s: %d bytes, %v", path, len(value), err)
		}
	}
	for _, dir := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "plain")} {
		if _, err := localfile.New(localfile.Config{Dir: dir}); err == nil {
			t.Errorf("%s is taken for a directory", dir)
		}
	}
}
