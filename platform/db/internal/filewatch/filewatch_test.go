package filewatch

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWritesGiveAToken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	hints, stop := Open(path)
	defer stop()
	for range 3 {
		if _, err := f.WriteString("more"); err != nil {
			t.Fatal(err)
		}
		<-hints
	}
}

// TestAFileThatCannotBeWatchedIsPolled opens a file that does not exist, which the kernel refuses to watch.
func TestAFileThatCannotBeWatchedIsPolled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		hints, stop := Open(filepath.Join(t.TempDir(), "missing"))
		defer stop()
		for range 3 {
			<-hints
		}
		if took := time.Since(begun); took != 3*pollEvery {
			t.Errorf("3 tokens took %v", took)
		}
	})
}
