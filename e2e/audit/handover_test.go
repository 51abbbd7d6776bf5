package audit

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// spoken holds the size and the signer of a receipt.
type spoken struct {
	kid  string
	size int64
}

func spokenBy(t *testing.T, receipt []byte) spoken {
	t.Helper()
	var e struct {
		Payload    []byte
		Signatures []struct{ KeyID string }
	}
	var s struct {
		Predicate struct{ Checkpoint string }
	}
	if err := json.Unmarshal(receipt, &e); err != nil || len(e.Signatures) != 1 {
		t.Fatalf("%v: %s", err, receipt)
	}
	if err := json.Unmarshal(e.Payload, &s); err != nil {
		t.Fatal(err)
	}
	size, err := strconv.ParseInt(strings.Split(s.Predicate.Checkpoint, "\n")[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return spoken{e.Signatures[0].KeyID, size}
}

// TestReceiptsDuringARotation requests receipts continuously while the keys rotate. Each must be signed by a key that
// is valid for its size. During a rotation a request may fail; afterwards it must succeed.
func TestReceiptsDuringARotation(t *testing.T) {
	t.Parallel()
	w := &fixture{Server: harness.Start(t, harness.Options{}), t: t}
	run := w.Await(w.Submit(script("true")).ID).ID
	var mu sync.Mutex
	var got []spoken
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				a := w.Do(http.MethodGet, "/v1/runs/"+run+"/receipt?sparse", nil)
				if a.Status == http.StatusServiceUnavailable {
					continue
				}
				if a.Status != http.StatusOK {
					t.Errorf("a receipt: %d %s", a.Status, a.Body)
					return
				}
				s := spokenBy(t, a.Body)
				mu.Lock()
				got = append(got, s)
				mu.Unlock()
			}
		})
	}
	for range 6 {
		must(t, 0, append([]string{"audit", "key", "rotate", "--yes"}, beside(w.Server)...)...)
	}
	close(done)
	readers.Wait()
	saved(t, w.Client, "/v1/runs/"+run+"/receipt", "receipt.json")
	spans := map[string]sealKey{}
	for _, k := range sealed(t, w.Server).Keys {
		spans[k.KID] = k
	}
	wrong := 0
	for _, s := range got {
		k, known := spans[s.kid]
		if !known || s.size < k.First || k.Last != nil && s.size > *k.Last {
			wrong++
			t.Logf("over %d entries by %+v", s.size, k)
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d receipts are signed by a key that does not speak for their size", wrong, len(got))
	}
	if len(got) < 10 {
		t.Errorf("only %d receipts", len(got))
	}
	intact(t, w.Server)
	t.Logf("%d receipts", len(got))
}
