package audittools

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/writ-automation/writ/e2e/harness"
)

// wholeTree checks with two libraries that all leaves lead to a head.
func wholeTree(t *testing.T, h head, leaves [][]byte) {
	t.Helper()
	r := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, 0, len(indexes))
		for _, i := range indexes {
			out = append(out, stored[i])
		}
		return out, nil
	})
	for i, leaf := range leaves {
		if err := r.Append(rfc6962.DefaultHasher.HashLeaf(leaf), nil); err != nil {
			t.Fatal(err)
		}
		more, err := tlog.StoredHashes(int64(i), leaf, reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
	}
	root, err := r.GetRootHash(nil)
	if err != nil || r.End() != h.size || !bytes.Equal(root, h.root) {
		t.Errorf("merkle: %d leaves lead to %x, %v; the head is %d, %x", r.End(), root, err, h.size, h.root)
	}
	if tree, err := tlog.TreeHash(int64(len(leaves)), reader); err != nil || !bytes.Equal(tree[:], h.root) {
		t.Errorf("tlog: %v, %v", tree, err)
	}
}

// unzip reads an archive, and refuses names that would leave a directory.
func unzip(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatalf("%v\n%.200s", err, data)
	}
	out := make(map[string][]byte)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || !filepath.IsLocal(f.Name) || out[f.Name] != nil {
			t.Fatalf("%q: %v", f.Name, err)
		}
		out[f.Name] = text
	}
	return out
}

// entries returns the leaves of the archive, read as C2SP tlog-tiles lays them out.
func entries(t *testing.T, files map[string][]byte, size uint64) [][]byte {
	t.Helper()
	var out [][]byte
	for i := uint64(0); i < size; i += 256 {
		name := fmt.Sprintf("%03d", i/256%1000)
		for rest := i / 256 / 1000; rest > 0; rest /= 1000 {
			name = fmt.Sprintf("x%03d/", rest%1000) + name
		}
		if size-i < 256 {
			name += fmt.Sprintf(".p/%d", size-i)
		}
		b, ok := files["tile/entries/"+name]
		if !ok {
			t.Fatalf("there is no tile/entries/%s", name)
		}
		for len(b) > 0 {
			if len(b) < 2 || len(b) < 2+int(binary.BigEndian.Uint16(b)) {
				t.Fatalf("%s is cut off", name)
			}
			end := 2 + int(binary.BigEndian.Uint16(b))
			out = append(out, b[2:end])
			b = b[end:]
		}
	}
	return out
}

// fetcher serves an archive to Tessera.
type fetcher map[string][]byte

func (f fetcher) read(name string) ([]byte, error) {
	if data, ok := f[name]; ok {
		return data, nil
	}
	return nil, fmt.Errorf("%s: %w", name, os.ErrNotExist)
}

func (f fetcher) name(level string, index uint64, partial uint8) string {
	name := fmt.Sprintf("%03d", index%1000)
	for rest := index / 1000; rest > 0; rest /= 1000 {
		name = fmt.Sprintf("x%03d/", rest%1000) + name
	}
	if partial > 0 {
		name += fmt.Sprintf(".p/%d", partial)
	}
	return "tile/" + level + "/" + name
}

func (f fetcher) ReadCheckpoint(context.Context) ([]byte, error) { return f.read("checkpoint") }

func (f fetcher) ReadTile(_ context.Context, level, index uint64, partial uint8) ([]byte, error) {
	return f.read(f.name(fmt.Sprint(level), index, partial))
}

func (f fetcher) ReadEntryBundle(_ context.Context, index uint64, partial uint8) ([]byte, error) {
	return f.read(f.name("entries", index, partial))
}

func leafHashes(data []byte) ([][]byte, error) {
	var b api.EntryBundle
	if err := b.UnmarshalText(data); err != nil {
		return nil, err
	}
	out := make([][]byte, 0, len(b.Entries))
	for _, e := range b.Entries {
		out = append(out, rfc6962.DefaultHasher.HashLeaf(e))
	}
	return out, nil
}

// tessera runs Tessera's own check of a whole log. With some flaws it does not end, which counts as a refusal.
func tessera(ctx context.Context, t *testing.T, files map[string][]byte, vkey string) error {
	t.Helper()
	v, err := note.NewVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- fsck.New(v.Name(), v, fetcher(files), leafHashes, fsck.Opts{N: 2}).Check(ctx) }()
	select {
	case err := <-done:
		return err
	case <-time.After(30 * time.Second):
		return context.DeadlineExceeded
	}
}

// checkArchive verifies a whole log in the layout of tlog-tiles.
func checkArchive(t *testing.T, files map[string][]byte, vkey string) {
	t.Helper()
	h := openHead(t, files["checkpoint"], vkey, files["key.pem"])
	leaves := entries(t, files, h.size)
	wholeTree(t, h, leaves)
	if err := tessera(t.Context(), t, files, vkey); err != nil {
		t.Errorf("tessera: %v", err)
	}
	// Tessera builds each proof from the tiles, and the other libraries verify it.
	build, err := client.NewProofBuilder(t.Context(), h.size, fetcher(files).ReadTile)
	if err != nil {
		t.Fatal(err)
	}
	r := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	for i, leaf := range leaves {
		path, err := build.InclusionProof(t.Context(), uint64(i))
		if err != nil {
			t.Fatalf("leaf %d: %v", i, err)
		}
		h.included(t, leaf, uint64(i), path)
		if err := r.Append(rfc6962.DefaultHasher.HashLeaf(leaf), nil); err != nil {
			t.Fatal(err)
		}
		root, err := r.GetRootHash(nil)
		if err != nil {
			t.Fatal(err)
		}
		if path, err = build.ConsistencyProof(t.Context(), uint64(i)+1, h.size); err != nil {
			t.Fatalf("from %d: %v", i+1, err)
		}
		h.follows(t, uint64(i)+1, root, path)
	}
}

// refused changes the archive, file by file, and expects that Tessera refuses it each time.
func refused(t *testing.T, files map[string][]byte, vkey string) {
	t.Helper()
	for name, data := range files {
		if name != "checkpoint" && !strings.HasPrefix(name, "tile/") || len(data) == 0 {
			continue
		}
		bad := make(map[string][]byte, len(files))
		for n, d := range files {
			bad[n] = d
		}
		bad[name] = slices.Clone(data)
		bad[name][len(data)/2] ^= 1
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		if err := tessera(ctx, t, bad, vkey); err == nil {
			t.Errorf("tessera takes the archive with another %s", name)
		}
		stop()
	}
}

func get(t *testing.T, s *harness.Server, path string) []byte {
	t.Helper()
	a := s.Do(http.MethodGet, path, nil)
	if a.Status != http.StatusOK {
		t.Fatalf("GET %s: %d %.500s", path, a.Status, a.Body)
	}
	return a.Body
}

// TestServer verifies exports of a real server's own trail: the archive, the bundle and receipts.
func TestServer(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	run := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "echo hello"}).ID)
	const more = 520 // two full tiles and a partial one
	for i := range more {
		if a := s.Do(http.MethodPost, "/v1/tokens",
			harness.Body{"name": fmt.Sprintf("t%d", i)}); a.Status != http.StatusCreated {
			t.Fatalf("a token: %d %s", a.Status, a.Body)
		}
	}
	files := unzip(t, get(t, s, "/v1/audit/bundle?format=tiles"))
	vkey := strings.TrimSpace(string(files["vkey"]))
	if files["tile/entries/001"] == nil || files["tile/1/000.p/2"] == nil || files["VERIFY.txt"] == nil {
		t.Fatalf("the archive holds %q", slices.Sorted(maps.Keys(files)))
	}
	checkArchive(t, files, vkey)
	refused(t, files, vkey)
	for _, query := range []string{"", "?from=5&to=300", "?limit=3"} {
		checkBundle(t, get(t, s, "/v1/audit/bundle"+query), vkey)
	}
	for _, query := range []string{"", "?sparse", "?from=0"} {
		checkReceipt(t, get(t, s, "/v1/runs/"+run.ID+"/receipt"+query), vkey)
	}
}
