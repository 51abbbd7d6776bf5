package bench

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the baselines write to the same engines
	_ "modernc.org/sqlite"

	"github.com/writ-automation/writ/e2e/harness"
)

// The baseline is a process of its own, so that its processor time is known apart from that of the clients. It is this
// test binary with these variables.
const (
	baselineDriver = "WRIT_BENCH_BASELINE" // "none" inserts nothing
	baselineURL    = "WRIT_BENCH_BASELINE_URL"
)

// serveBaseline serves with net/http until its input ends. Without a database each answer is empty, with one each
// request is one durable insert.
func serveBaseline(driver, url string) error {
	answer := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	if driver != "none" {
		db, err := sql.Open(driver, url)
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		if driver == "sqlite" {
			db.SetMaxOpenConns(1)
		} else {
			db.SetMaxIdleConns(32)
		}
		if _, err := db.Exec("CREATE TABLE t (body TEXT)"); err != nil {
			return err
		}
		answer = func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				_, err = db.ExecContext(r.Context(), "INSERT INTO t (body) VALUES ($1)", string(body))
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.WriteHeader(http.StatusCreated)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); _ = l.Close() }()
	if err := http.Serve(l, http.HandlerFunc(answer)); err != nil && !strings.Contains(err.Error(), "use of closed") {
		return err
	}
	return nil
}

// baseline is a running baseline process.
type baseline struct {
	harness.Client
	pid  int
	stop func()
}

// startBaseline starts one and waits for its first answer. The benchmark's end stops it.
func startBaseline(b *testing.B, driver, url string) *baseline {
	b.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), baselineDriver+"="+driver, baselineURL+"="+url)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(b, err)
	out, err := cmd.StdoutPipe()
	must(b, err)
	must(b, cmd.Start())
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			_ = in.Close()
			_ = cmd.Wait()
		}
	}
	b.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	must(b, err)
	p := &baseline{Client: harness.NewClient(b, strings.TrimSpace(line), ""), pid: cmd.Process.Pid, stop: stop}
	if driver == "none" {
		p.Do(http.MethodGet, "/", nil)
	}
	return p
}
