package template

import (
	"net/url"
	"slices"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// hidden is what reading returns for a secret.
const hidden = "***"

// masked returns a template as it is read: targets of notifications are secrets but for the server and the addressee.
func masked(t catalog.Template) catalog.Template {
	t.Notifications = slices.Clone(t.Notifications)
	for i := range t.Notifications {
		n := &t.Notifications[i]
		n.URL = maskURL(n.URL)
		if n.Key != "" {
			n.Key = hidden
		}
	}
	return t
}

// restore puts the stored values of variables back that were read redacted, of steps by their names.
func restore(t, stored *catalog.Template) {
	t.ExtraVars = t.ExtraVars.Restore(stored.ExtraVars)
	t.Steps = slices.Clone(t.Steps)
	for i := range t.Steps {
		at := slices.IndexFunc(stored.Steps, func(s runs.StepSpec) bool { return s.Name == t.Steps[i].Name })
		if at >= 0 {
			t.Steps[i].ExtraVars = t.Steps[i].ExtraVars.Restore(stored.Steps[at].ExtraVars)
		}
	}
}

// maskURL keeps the server of an address.
func maskURL(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return hidden
	}
	return u.Scheme + "://" + u.Host + "/" + hidden
}

func isMask(n *runs.Notification) (address, key bool) {
	return n.URL != "" && n.URL == maskURL(n.URL), n.Key == hidden
}

// unmasked returns targets with the stored values in the place of their masks. A stored target is found by its kind and its masks; a
// stored key goes nowhere but to the address for which it was given. An Invalid fault names the mask that nothing stored has, or that
// several have of which it cannot be told which one is meant.
func unmasked(said, stored []runs.Notification) ([]runs.Notification, error) {
	out := slices.Clone(said)
	taken := make([]bool, len(stored))
	for i := range out {
		n := &out[i]
		address, key := isMask(n)
		if !address && !key {
			continue
		}
		at, err := find(said, i, stored, taken)
		if err != nil {
			return nil, err
		}
		taken[at] = true
		if address {
			n.URL = stored[at].URL
		}
		if key {
			n.Key = stored[at].Key
		}
	}
	return out, nil
}

// find returns the stored target of a mask: the one at the same place of an equally long list, else the next one where as many are said
// as are stored, else the only one.
func find(said []runs.Notification, i int, stored []runs.Notification, taken []bool) (int, error) {
	n := &said[i]
	if len(said) == len(stored) && fits(n, &stored[i]) && !taken[i] {
		return i, nil
	}
	var all, free []int
	for k := range stored {
		if !fits(n, &stored[k]) {
			continue
		}
		all = append(all, k)
		if !taken[k] {
			free = append(free, k)
		}
	}
	same := 0
	for k := range said {
		if said[k].Kind == n.Kind && said[k].URL == n.URL && said[k].Key == n.Key {
			same++
		}
	}
	one := func(k int) bool { return stored[k].URL == stored[all[0]].URL && stored[k].Key == stored[all[0]].Key }
	switch {
	case len(all) == 0:
		return 0, refuse(n, i, stored, "is a mask, and no stored target of this kind and address has it")
	case len(free) > 0 && same == len(all):
		return free[0], nil
	case !slices.ContainsFunc(all, func(k int) bool { return !one(k) }):
		return all[0], nil
	default:
		return 0, refuse(n, i, stored, "is the mask of several stored targets; give the value itself")
	}
}

func fits(n, stored *runs.Notification) bool {
	_, key := isMask(n)
	return sameAddress(n, stored) && (!key || stored.Key != "")
}

func sameAddress(n, stored *runs.Notification) bool {
	if n.Kind != stored.Kind {
		return false
	}
	if address, _ := isMask(n); address {
		return n.URL == maskURL(stored.URL)
	}
	return n.URL == stored.URL
}

// refuse names the member of a target whose mask stands for nothing.
func refuse(n *runs.Notification, i int, stored []runs.Notification, why string) error {
	field := "url"
	known := slices.ContainsFunc(stored, func(s runs.Notification) bool { return sameAddress(n, &s) && !fits(n, &s) })
	if address, _ := isMask(n); known || !address {
		field = "key"
	}
	return fault.BadField(check.At("notifications", i)+"."+field, "%s", why)
}
