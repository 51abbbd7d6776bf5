package setup

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestBillOfMaterials compares what is listed with what the binary tells, and requires the same bytes a second time.
func TestBillOfMaterials(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "sbom")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "./e2e/setup/sbom")
	build.Dir, build.Env = filepath.Dir(root(t, "go.mod")), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	binary := harness.Binary(t, harness.Release)
	bill := func() []byte {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program, binary, root(t, "adapters/httpapi/ops/assets")).Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := bill()
	if !bytes.Equal(first, bill()) {
		t.Error("two lists of one binary differ")
	}
	var d struct {
		BOMFormat, SpecVersion string
		Metadata               struct{ Component struct{ Name, PURL string } }
		Components             []struct{ Name, Version, PURL string }
		Dependencies           []struct {
			Ref       string
			DependsOn []string
		}
	}
	if err := json.Unmarshal(first, &d); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"std": strings.TrimPrefix(info.GoVersion, "go"), "swagger-ui-dist": "5.35.0"}
	for _, m := range info.Deps {
		if m.Replace == nil { // what stands in for a module is a folder of this repository
			want[m.Path] = m.Version
		}
	}
	got := make(map[string]string, len(d.Components))
	for i, c := range d.Components {
		got[c.Name] = c.Version
		if c.PURL == "" || !strings.HasSuffix(c.PURL, c.Name+"@"+strings.ReplaceAll(c.Version, "+", "%2B")) {
			t.Errorf("the address of %s is %q", c.Name, c.PURL)
		}
		if d.Dependencies[0].DependsOn[i] != c.PURL {
			t.Errorf("the binary does not depend on %s", c.PURL)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 50 {
		t.Error(len(want), diff)
	}
	if d.BOMFormat != "CycloneDX" || d.SpecVersion != "1.5" || len(d.Dependencies) != 1 ||
		d.Metadata.Component.Name != "github.com/writ-automation/writ" ||
		d.Dependencies[0].Ref != d.Metadata.Component.PURL {
		t.Errorf("%.600s", first)
	}
	if out, err := exec.CommandContext(t.Context(), program, "/bin/sh").CombinedOutput(); err == nil ||
		!strings.HasPrefix(string(out), "sbom: read what /bin/sh was built from: ") {
		t.Errorf("%v: %s", err, out)
	}
}
