package wire

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/extension"
)

func TestRun(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, time.March, 4, 5, 6, 7, 8, time.UTC)
	for _, want := range []extension.EndedRun{
		{}, {Delivery: "d", ID: "i", Name: "Größe", Tool: "bash", Status: "failed", Error: "no", StartedAt: at,
			EndedAt: at.Add(time.Hour), Record: json.RawMessage(`{"id":1}`)},
	} {
		if got := ToRun(FromRun("n", want)); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if got := FromRun("n", extension.EndedRun{Name: "a\xffb"}).GetName(); got != "a\uFFFDb" {
		t.Errorf("%q", got)
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	inner := &Description{Engines: []*Engine{{Name: "a", Fields: []*Field{{Name: "b"}}}}}
	if err := Strict(inner); err != nil {
		t.Error(err)
	}
	inner.Engines[0].Fields[0].ProtoReflect().SetUnknown([]byte{0xa0, 0x06, 1})
	if err := Strict(inner); err == nil || !strings.Contains(err.Error(), "Field") {
		t.Error(err)
	}
	lease := &Secret{Lease: &Lease{}}
	lease.GetLease().ProtoReflect().SetUnknown([]byte{0xa0, 0x06, 1})
	if err := Strict(lease); err == nil {
		t.Error("an unknown member of a lease")
	}
}

func TestValidName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"": false, "a": true, "Tofu-1.2_x": true, "-a": false, ".a": false, "a b": false, "ä": false, "a/b": false,
		"a\n":                        false,
		strings.Repeat("a", MaxName): true, strings.Repeat("a", MaxName+1): false,
	} {
		if ValidName(name) != want {
			t.Errorf("%q", name)
		}
	}
}

// TestFailure: the wait that a plugin asks for is bounded, and so are its texts.
func TestFailure(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]time.Duration{-5: 0, 1500: 1500 * time.Millisecond, math.MaxInt64: time.Hour} {
		got := ToFailure(&Failure{Message: "a\nb", RetryAfterMs: ms, Cause: strings.Repeat("x", 5000)})
		if got.RetryAfter != want || got.Message != "a b" || len(got.Cause.Error()) > 2000 {
			t.Errorf("%d: %+v", ms, got)
		}
	}
}
