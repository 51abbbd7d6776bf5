// Package natstest runs a real NATS server with JetStream for tests. It needs the program nats-server.
package natstest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Start starts a server on a loopback port of its own choice and returns its URL. The server ends with the test.
func Start(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command("nats-server", "-a", "127.0.0.1", "-p", "-1", "-js", "-sd", dir, "--ports_file_dir", dir)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		t.Fatalf("start nats-server (make setup installs it): %v", err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	ports := filepath.Join(dir, "nats-server_"+strconv.Itoa(c.Process.Pid)+".ports")
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var listen struct{ NATS []string }
		// The file is complete when it parses: the server writes it while this reads it.
		if raw, err := os.ReadFile(ports); err == nil && json.Unmarshal(raw, &listen) == nil && len(listen.NATS) > 0 {
			return listen.NATS[0]
		}
	}
	output, _ := os.ReadFile(log.Name())
	t.Fatalf("nats-server did not start:\n%s", output)
	return ""
}
