package targets

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// A stored target is found by its kind and its masks: the one at the same index if the lists have equal lengths, else
// the next one if the request has as many as are stored, else the only one.
func (k *Targets) Echoed(ctx context.Context, input, stored []runs.Notification) ([]runs.Notification, error) {
	out := slices.Clone(input)
	taken := make([]bool, len(stored))
	for i := range out {
		out[i].Ref = ""
		address, key := notify.IsMask(out[i])
		if !address && !key {
			continue
		}
		at, err := k.findStored(ctx, input, i, stored, taken)
		if err != nil {
			return nil, err
		}
		taken[at] = true
		if out[i], err = k.fill(ctx, out[i], stored[at]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Same compares keyed digests.
func (k *Targets) Same(ctx context.Context, input, stored []runs.Notification) (bool, error) {
	if len(input) != len(stored) {
		return false, nil
	}
	list, err := k.Echoed(ctx, input, stored)
	if fault.Is(err, fault.Invalid) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i, n := range list {
		was := stored[i]
		if n.Kind != was.Kind || n.To != was.To || n.OnFailure != was.OnFailure {
			return false, nil
		}
		if n.Ref != "" && n.Ref == was.Ref {
			continue
		}
		a, err := k.identify(ctx, n)
		if err != nil {
			return false, err
		}
		b, err := k.identify(ctx, was)
		if err != nil || a != b {
			return false, err
		}
	}
	return true, nil
}

// identify returns the digest of a target's address and key.
func (k *Targets) identify(ctx context.Context, n runs.Notification) (string, error) {
	h, err := k.open(ctx, n)
	if err != nil {
		return "", err
	}
	return k.digest(ctx, n.Kind, h)
}

// fill replaces masks by the stored values. A target without new values stays the stored one.
func (k *Targets) fill(ctx context.Context, n, stored runs.Notification) (runs.Notification, error) {
	address, key := notify.IsMask(n)
	if stored.Ref != "" && (address || n.URL == "") && (key || n.Key == "" && stored.Key == "") {
		n.URL, n.Key, n.Ref = stored.URL, stored.Key, stored.Ref
		return n, nil
	}
	h, err := k.open(ctx, stored)
	if err != nil {
		return n, err
	}
	if address {
		n.URL = h.URL
	}
	if key {
		n.Key = h.Key
	}
	return n, nil
}

// findStored returns the index of the stored target that a mask represents.
func (k *Targets) findStored(
	ctx context.Context, input []runs.Notification, i int, stored []runs.Notification, taken []bool,
) (int, error) {
	n := input[i]
	var all, free []int
	for at := range stored {
		ok, err := k.fits(ctx, n, stored[at])
		if err != nil {
			return 0, err
		}
		if !ok {
			continue
		}
		if at == i && len(input) == len(stored) && !taken[at] {
			return i, nil
		}
		all = append(all, at)
		if !taken[at] {
			free = append(free, at)
		}
	}
	same := 0
	for at := range input {
		if input[at].Kind == n.Kind && input[at].URL == n.URL && input[at].Key == n.Key {
			same++
		}
	}
	address, _ := notify.IsMask(n)
	switch {
	case len(all) == 0:
		return 0, k.nothing(ctx, n, i, stored)
	case len(free) > 0 && same == len(all):
		return free[0], nil
	case !slices.ContainsFunc(all, func(at int) bool { return !equal(stored[at], stored[all[0]]) }):
		return all[0], nil
	default:
		return 0, refuse(i, address, "is the mask of several stored targets; give the value itself")
	}
}

// equal reports whether two stored targets have the same destination: equal ones are stored once.
func equal(a, b runs.Notification) bool { return a.Ref == b.Ref && a.URL == b.URL && a.Key == b.Key }

// fits reports whether the input may represent a stored target.
func (k *Targets) fits(ctx context.Context, n, stored runs.Notification) (bool, error) {
	if _, key := notify.IsMask(n); key && stored.Key == "" {
		return false, nil
	}
	return k.sameAddress(ctx, n, stored)
}

// sameAddress reports whether the input has the address of a stored target, or its mask: a stored key is only sent to
// the stored address.
func (k *Targets) sameAddress(ctx context.Context, n, stored runs.Notification) (bool, error) {
	if n.Kind != stored.Kind {
		return false, nil
	}
	if address, _ := notify.IsMask(n); address || n.URL == "" || stored.URL == "" {
		return n.URL == stored.Masked().URL, nil
	}
	h, err := k.open(ctx, stored)
	return err == nil && n.URL == h.URL, err
}

// nothing returns the fault for a member whose mask represents no stored target.
func (k *Targets) nothing(ctx context.Context, n runs.Notification, i int, stored []runs.Notification) error {
	address, _ := notify.IsMask(n)
	for _, s := range stored {
		same, err := k.sameAddress(ctx, n, s)
		if err != nil {
			return err
		}
		address = address && !same
	}
	return refuse(i, address, "is a mask, and no stored target of this kind and address has it")
}
