package notifytest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// env holds the stores of one case and makes records for them.
type env struct {
	Stores
	n atomic.Int64
}

// gone is the duration of a claim that expires before it begins, so that no test waits.
const (
	gone       = -time.Minute
	visibility = time.Hour
)

// hard is a text that is easily corrupted by escaping.
const hard = "Größe 'quoted' \"twice\" ? $1 \\ %s 京 \U0001F642"

var errStop = errors.New("stop")

// run stores a run and returns its id.
func (e *env) run(t *testing.T) string {
	t.Helper()
	id := fmt.Sprintf("run_%026d", e.n.Add(1))
	if err := e.Runs(t.Context(), id); err != nil {
		t.Fatalf("make a run: %v", err)
	}
	return id
}

// delivery makes a pending delivery to a target of the run.
func (e *env) delivery(runID string, position int, edit ...func(*notify.Delivery)) notify.Delivery {
	n := e.n.Add(1)
	d := notify.Delivery{
		ID: fmt.Sprintf("nty_%026d", n), RunID: runID, Event: notify.Finished, Origin: notify.OfRun, Position: position,
		Kind:   "slack",
		Target: runs.Notification{Kind: "slack", URL: "https://hooks.example/***", Ref: fmt.Sprintf("ntg_%026d", n)},
		Status: notify.Pending,
	}
	for _, fn := range edit {
		fn(&d)
	}
	return d
}

// toward gives a delivery a target of the server.
func toward(digest string) func(*notify.Delivery) {
	return func(d *notify.Delivery) {
		d.Origin, d.Digest, d.Target.Ref = notify.OfServer, digest, ""
	}
}

// insert stores deliveries and checks how many were new.
func (e *env) insert(t *testing.T, fresh int, list ...notify.Delivery) {
	t.Helper()
	err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
		n, err := e.Deliveries.InsertDeliveries(ctx, list)
		if err == nil && n != fresh {
			t.Errorf("%d were new, want %d", n, fresh)
		}
		return err
	})
	if err != nil {
		t.Fatalf("insert: %v", err)
	}
}

// add stores a pending delivery of a run of its own.
func (e *env) add(t *testing.T, edit ...func(*notify.Delivery)) notify.Delivery {
	t.Helper()
	d := e.delivery(e.run(t), 0, edit...)
	e.insert(t, 1, d)
	return d
}

// list reads every delivery about a run.
func (e *env) list(t *testing.T, runID string) []notify.Delivery {
	t.Helper()
	list, total, err := e.Deliveries.ListDeliveries(t.Context(), runID, page.Window{})
	if err != nil || total != len(list) {
		t.Fatalf("list: %d of %d, %v", len(list), total, err)
	}
	return list
}

// get reads the only delivery about a run.
func (e *env) get(t *testing.T, runID string) notify.Delivery {
	t.Helper()
	list := e.list(t, runID)
	if len(list) != 1 {
		t.Fatalf("%d deliveries", len(list))
	}
	return list[0]
}

func (e *env) take(t *testing.T, limit int, d time.Duration, full ...string) ([]notify.Delivery, time.Duration) {
	t.Helper()
	list, wait, err := e.Deliveries.TakeDeliveries(t.Context(), limit, d, full)
	if err != nil {
		t.Fatalf("take: %v", err)
	}
	return list, wait
}

// takes checks which deliveries are taken, whatever their order.
func (e *env) takes(t *testing.T, what string, limit int, d time.Duration, want []string, full ...string) {
	t.Helper()
	list, _ := e.take(t, limit, d, full...)
	same(t, what, set(want...), set(ids(list)...))
}

func ids(list []notify.Delivery) []string {
	out := make([]string, 0, len(list))
	for _, d := range list {
		out = append(out, d.ID)
	}
	return out
}

func set(list ...string) map[string]int {
	out := map[string]int{}
	for _, x := range list {
		out[x]++
	}
	return out
}

func (e *env) end(t *testing.T, id string, s notify.Status, reason string) {
	t.Helper()
	if err := e.Deliveries.EndDelivery(t.Context(), id, s, reason); err != nil {
		t.Fatalf("end: %v", err)
	}
}

func (e *env) postpone(t *testing.T, id, reason string, after time.Duration) {
	t.Helper()
	if err := e.Deliveries.DeferDelivery(t.Context(), id, reason, after); err != nil {
		t.Fatalf("defer: %v", err)
	}
}

// recent checks that the store set a time, by a clock that may differ from this one by an hour, and takes it out.
func recent(t *testing.T, what string, at *time.Time) {
	t.Helper()
	if d := time.Since(*at); d > time.Hour || d < -time.Hour || at.Location() != time.UTC ||
		!at.Equal(at.Truncate(time.Microsecond)) {
		t.Errorf("%s is %s", what, at)
	}
	*at = time.Time{}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	// Equal values need no diff, which takes long for large values.
	if reflect.DeepEqual(want, got) {
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func refused(t *testing.T, what string, err error, want fault.Code) {
	t.Helper()
	if !want.Is(err) || !fault.Is(err, want.Kind) {
		t.Errorf("%s: %v, want %s", what, err, want.Name)
	}
}
