package notifytest

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// fails makes a delivery that must fail within a time, and checks the error.
func fails(t *testing.T, c ChannelUnderTest, to notify.Target, within time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	begin := time.Now()
	err := c.Channel.Deliver(ctx, to, message(runs.Failed))
	if took := time.Since(begin); took > within+prompt {
		t.Errorf("it took %s", took)
	}
	if err == nil {
		t.Error("no error")
		return nil
	}
	sentence(t, c, err)
	return err
}

// sentence checks that an error is one sentence without a secret.
func sentence(t *testing.T, c ChannelUnderTest, err error) {
	t.Helper()
	text := err.Error()
	if text == "" || len(text) > 1000 || strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}) {
		t.Errorf("no sentence: %q", text)
	}
	for _, form := range []string{text, fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		for _, s := range append([]string{undisclosed}, c.Outside.Secrets...) {
			for _, s := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
				if s != "" && strings.Contains(strings.ToLower(form), strings.ToLower(s)) {
					t.Errorf("a secret is told: %q", form)
				}
			}
		}
	}
	if k := fault.KindOf(err); k == fault.Internal {
		t.Errorf("an internal error instead of a fault: %q", text)
	}
}

func channelTogether(t *testing.T, c ChannelUnderTest) {
	const n = 12
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			m := message(runs.Failed, func(r *runs.Run) { r.ID = fmt.Sprintf("run_%026d", i) })
			if err := c.Channel.Deliver(t.Context(), c.Outside.Target, m); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	heard := strings.Join(c.Outside.Heard(), "\n")
	if got := len(c.Outside.Heard()); got != n {
		t.Errorf("%d of %d arrived", got, n)
	}
	for i := range n {
		if id := fmt.Sprintf("run_%026d", i); !strings.Contains(heard, id) {
			t.Errorf("%s did not arrive", id)
		}
	}
}

func channelRefused(t *testing.T, c ChannelUnderTest) {
	c.Outside.Behave(Refuses)
	fails(t, c, c.Outside.Target, prompt)
	if len(c.Outside.Heard()) > 0 {
		t.Error("the other side took what it refused")
	}
	c.Outside.Behave(Takes)
	delivered(t, c, message(runs.Failed))
}

func channelHanging(t *testing.T, c ChannelUnderTest) {
	c.Outside.Behave(Hangs)
	if err := fails(t, c, c.Outside.Target, 300*time.Millisecond); notify.Refused.Is(err) {
		t.Errorf("another try is not useless: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(100*time.Millisecond, cancel).Stop()
	if err := c.Channel.Deliver(ctx, c.Outside.Target, message(runs.Failed)); err == nil {
		t.Error("no error where nobody waits for the answer any more")
	}
}

func channelHangsUp(t *testing.T, c ChannelUnderTest) {
	c.Outside.Behave(HangsUp)
	if err := fails(t, c, c.Outside.Target, prompt); notify.Refused.Is(err) {
		t.Errorf("another try is not useless: %v", err)
	}
}

func channelFlood(t *testing.T, c ChannelUnderTest) {
	c.Outside.Behave(Floods)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fails(t, c, c.Outside.Target, prompt)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > Flood/4 {
		t.Errorf("%d bytes were allocated for an answer", grown)
	}
}

func channelOver(t *testing.T, c ChannelUnderTest) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Channel.Deliver(ctx, c.Outside.Target, message(runs.Failed)); err == nil {
		t.Error("no error")
	} else {
		sentence(t, c, err)
	}
	if n := len(c.Outside.Heard()); n > 0 {
		t.Errorf("%d messages arrived", n)
	}
}

// channelNowhere sets the required members of the kind to values that reach nothing.
func channelNowhere(t *testing.T, c ChannelUnderTest) {
	kind, _ := notify.KindOf(c.Channel.Kind())
	for _, bad := range []string{"", " ", "\x00", "c4nary-nowhere", "://c4nary-nowhere", "file:///c4nary-nowhere",
		"http://[c4nary-nowhere",
		"http://0x7f.1/c4nary-nowhere", "gopher://c4nary-nowhere/",
		"http://exa mple/c4nary-nowhere", "mailto:c4nary-nowhere", "//c4nary-nowhere", "a@b\r\nBcc: c4nary-nowhere@x",
		"<c4nary-nowhere", ",",
		"http:///c4nary-nowhere", "http://%zz/c4nary-nowhere"} {
		to := c.Outside.Target
		for _, member := range kind.Required {
			switch member {
			case "url":
				to.URL = secret.Text(bad)
			case "to":
				to.To = bad
			}
		}
		if to == c.Outside.Target { // the kind has only a key
			return
		}
		before := len(c.Outside.Heard())
		err := c.Channel.Deliver(t.Context(), to, message(runs.Failed))
		if err == nil {
			t.Errorf("%q: no error", bad)
			continue
		}
		sentence(t, c, err)
		if strings.Contains(err.Error(), "c4nary-nowhere") || len(c.Outside.Heard()) > before {
			t.Errorf("%q: %v, %d messages arrived", bad, err, len(c.Outside.Heard())-before)
		}
	}
}
