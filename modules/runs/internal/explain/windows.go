package explain

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// gated explains a pending run that a window or busy slots keep from starting. It returns nothing for another one. A
// run below a parent waits with it.
func (x *Explainer) gated(ctx context.Context, r *runs.Run) ([]runs.Reason, error) {
	if out, err := x.windows(ctx, r); err != nil || out != nil {
		return out, err
	}
	return x.busy(ctx, r)
}

func (x *Explainer) windows(ctx context.Context, r *runs.Run) ([]runs.Reason, error) {
	if x.Waits == nil || !r.Gated {
		return nil, nil
	}
	w, err := x.Waits.WaitOf(ctx, cmp.Or(r.ParentID, r.ID))
	if err != nil || !w.Closed() {
		return nil, err
	}
	return []runs.Reason{{Code: "window", Text: fmt.Sprintf("the window %q keeps the run from starting", w.Window),
		Object: w.WindowID, Since: w.Since, Next: opening(w, x.Clock.Now())}}, nil
}

func opening(w *runs.Wait, now time.Time) string {
	const override = ", or an administrator lets it pass the window"
	switch {
	case !w.Opens.IsZero() && w.Opens.After(now):
		return fmt.Sprintf("the run may start in %s, at %s%s", span(w.Opens.Sub(now)), w.Opens.UTC().Format(time.RFC3339),
			override)
	case !w.Opens.IsZero():
		return "the run may start in a moment"
	case !w.Again.IsZero():
		return "the run may not start before " + w.Again.UTC().Format(time.RFC3339) + override
	default:
		return "the window never opens: an administrator changes it, or lets the run pass it"
	}
}

// span says in words how long a time is, in its two largest units.
func span(d time.Duration) string {
	units := []struct {
		name string
		each time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}}
	d = d.Round(time.Second)
	text := ""
	for i, u := range units {
		n := int(d / u.each)
		if n == 0 && (text != "" || i < len(units)-1) {
			continue
		}
		part := fmt.Sprintf("%d %s", n, u.name)
		if n != 1 {
			part += "s"
		}
		if d -= time.Duration(n) * u.each; text != "" {
			return text + " and " + part
		}
		text = part
	}
	return text
}
