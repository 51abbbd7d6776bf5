package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// desktopUser is a user with a data directory and a program that notes what it should open.
func desktopUser(t *testing.T) (u user, dir, opened string) {
	t.Helper()
	home := t.TempDir()
	opened = filepath.Join(home, "opened")
	browser := filepath.Join(home, "browser")
	script := fmt.Sprintf("#!/bin/sh\necho \"$1\" >>'%s'\n", opened)
	if err := os.WriteFile(browser, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return user{t: t, env: []string{"HOME=" + home, "XDG_DATA_HOME=" + home, "BROWSER=" + browser}},
		filepath.Join(home, "writ"), opened
}

// openedLinks waits until the browser was started n times, and returns the addresses.
func openedLinks(t *testing.T, file string, n int) []string {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); ; <-time.After(10 * time.Millisecond) {
		raw, _ := os.ReadFile(file)
		if list := strings.Fields(string(raw)); len(list) >= n {
			return list
		}
		if time.Now().After(deadline) {
			t.Fatalf("the browser was not started %d times: %s", n, raw)
		}
	}
}

// visit opens a link as a browser does, and returns the answer and who is signed in then.
func visit(t *testing.T, link string, header ...string) (code int, who string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(address string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	code = get(link).StatusCode
	base, _, _ := strings.Cut(link, "/desktop/")
	var me struct{ User struct{ Username string } }
	_ = json.NewDecoder(get(base + "/v1/auth/me").Body).Decode(&me)
	return code, me.User.Username
}

func addressIn(t *testing.T, dir string) (address string, pid int) {
	t.Helper()
	var s struct {
		Address string
		PID     int
	}
	raw, err := os.ReadFile(filepath.Join(dir, "desktop.json"))
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.Address, s.PID
}

// TestDesktop starts a desktop, opens it a second time, and ends it.
func TestDesktop(t *testing.T) {
	t.Parallel()
	u, dir, opened := desktopUser(t)
	first := u.start("desktop")
	first.shows(first.out, "runs until")
	if strings.Contains(first.out.String()+first.err.String(), "writ_") {
		t.Errorf("it prints a token: %s", first.out)
	}
	link := openedLinks(t, opened, 1)[0]
	if code, who := visit(t, link, "X-Forwarded-For", "192.0.2.7"); code != http.StatusNotFound || who != "" {
		t.Errorf("through a proxy: %d, %q", code, who)
	}
	if code, who := visit(t, link); code != http.StatusOK || who != "admin" {
		t.Errorf("the link: %d, %q", code, who)
	}
	if code, who := visit(t, link); code != http.StatusForbidden || who != "" {
		t.Errorf("the link again: %d, %q", code, who)
	}
	if code, who := visit(t, link[:len(link)-4]+"AAAA"); code != http.StatusForbidden || who != "" {
		t.Errorf("another link: %d, %q", code, who)
	}
	if code, out, errs := u.do("desktop"); code != 0 || !strings.Contains(out, "already runs") {
		t.Errorf("a second start: %d %s%s", code, out, errs)
	}
	if code, who := visit(t, openedLinks(t, opened, 2)[1]); code != http.StatusOK || who != "admin" {
		t.Errorf("the second link: %d, %q", code, who)
	}
	address, _ := addressIn(t, dir)
	if err := first.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := first.end(); code != 0 {
		t.Errorf("it ended with %d: %s", code, first.err)
	}
	if kept, pid := addressIn(t, dir); kept != address || pid != 0 {
		t.Errorf("after the end: %s, process %d", kept, pid)
	}
}

// TestDesktopStarts shows starts after a crash, with a port that something else has, and two at once.
func TestDesktopStarts(t *testing.T) {
	t.Parallel()
	u, dir, opened := desktopUser(t)
	one, two := u.start("desktop"), u.start("desktop")
	openedLinks(t, opened, 2)
	if runs := strings.Count(one.out.String()+two.out.String(), "runs until"); runs != 1 {
		t.Errorf("%d of two desktops run:\n%s%s%s%s", runs, one.out, two.out, one.err, two.err)
	}
	address, pid := addressIn(t, dir)
	for _, p := range []*process{one, two} {
		if p.cmd.Process.Pid == pid {
			_ = p.cmd.Process.Kill()
		}
		p.end()
	}
	again := u.start("desktop")
	again.shows(again.out, "runs until")
	if now, other := addressIn(t, dir); now != address || other == pid {
		t.Errorf("after a crash: %s instead of %s, process %d", now, address, other)
	}
	_ = again.cmd.Process.Kill()
	again.end()
	var lc net.ListenConfig
	if stranger, err := lc.Listen(t.Context(), "tcp", address); err == nil { // else another program has the port already
		t.Cleanup(func() { _ = stranger.Close() })
	}
	third := u.start("desktop")
	third.shows(third.out, "runs until")
	if now, _ := addressIn(t, dir); now == address {
		t.Error("it took the port of another program")
	}
}
