// Package audittools verifies exports of the audit trail with third-party tools: the note and tree libraries of Go's
// checksum database, those of transparency-dev, Tessera's fsck and OpenSSL. It is a separate module, so that none of
// them is a dependency of the product: run it with "go test ./..." in this folder.
package audittools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestMain builds the binary from the product's own module, with the product's own versions of everything.
func TestMain(m *testing.M) {
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(harness.Main(m))
}

// vectorDir is below the root of the repository, where the tests run.
const vectorDir = "ports/proof/testdata"

// vectorDigest names the environment variable with the digest of these files: Go's test cache tracks variables that a
// test reads, but no files outside of its module.
const vectorDigest = "WRIT_TEST_VECTORS"

// vectorKey is the key that signs the heads of all vectors.
const vectorKey = "audit.example.org/in_test/e1+c2f7f880+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"

func readJSON(t *testing.T, data []byte, out any) {
	t.Helper()
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatalf("%v\n%.500s", err, data)
	}
}

func readFile(t *testing.T, path ...string) []byte {
	t.Helper()
	_ = os.Getenv(vectorDigest) // the test cache tracks variables that are read while tests run
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
