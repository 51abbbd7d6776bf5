package bench

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// BenchmarkCredentials measures the cost of credentials before the first process of a run: none, the variables of one,
// and four of different kinds with a private key for an agent and a large document.
func BenchmarkCredentials(b *testing.B) {
	s := harness.Start(b, harness.Options{})
	var ids []string
	for _, c := range []harness.Body{
		{"kind": "env", "secret": harness.Body{"vars": harness.Body{"API_KEY": "a key of some length"}}},
		{"kind": "ssh_key", "secret": harness.Body{"private_key": privateKey(b)},
			"settings": harness.Body{"username": "deploy"}},
		{"kind": "vault_password", "secret": harness.Body{"password": "of the vault"}},
		{"kind": "gcp", "secret": harness.Body{"service_account_json": harness.Body{"type": "service_account",
			"private_key": privateKey(b)}}},
	} {
		c["name"] = c["kind"]
		ids = append(ids, create(b, s, "/v1/credentials", c))
	}
	for _, n := range []int{0, 1, 4} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var samples []time.Duration
			for b.Loop() {
				for range 20 {
					r := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "true", "credential_ids": ids[:n]}).ID)
					if r.StartedAt == nil {
						b.Fatalf("never started: %s %s", r.Status, r.Error)
					}
					samples = append(samples, r.StartedAt.Sub(r.CreatedAt))
				}
			}
			b.ReportMetric(ms(quantile(samples, 0.5)), "ms-start-p50")
			b.ReportMetric(ms(quantile(samples, 0.99)), "ms-start-p99")
		})
	}
	s.Stop()
}

func privateKey(b *testing.B) string {
	b.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		b.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// BenchmarkNotifications measures how soon a webhook is notified of the end of a run, and the cost of 500 runs with a
// target each over as many without.
func BenchmarkNotifications(b *testing.B) {
	const n = 500
	var heard atomic.Int64
	at := make(chan time.Time, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		heard.Add(1)
		select {
		case at <- time.Now():
		default:
		}
	}))
	defer hook.Close()
	s := harness.Start(b, harness.Options{Flags: []string{"--allow-private-egress", "127.0.0.0/8", "--executors", "16"}})
	tell := harness.Body{"tool": "bash", "command": "true",
		"notifications": []harness.Body{{"kind": "webhook", "url": hook.URL}}}
	b.Run("lag", func(b *testing.B) {
		var samples []time.Duration
		for b.Loop() {
			r := s.Await(s.Submit(tell).ID)
			samples = append(samples, (<-at).Sub(*r.EndedAt))
		}
		b.ReportMetric(ms(quantile(samples, 0.5)), "ms-p50")
		b.ReportMetric(ms(quantile(samples, 0.99)), "ms-p99")
	})
	for name, body := range map[string]harness.Body{"nobody": {"tool": "bash", "command": "true"}, "webhook": tell} {
		b.Run("500-runs-"+name, func(b *testing.B) {
			for b.Loop() {
				heard.Store(0)
				start := time.Now()
				var ids []string
				for range n {
					ids = append(ids, s.Submit(body).ID)
				}
				for _, id := range ids {
					s.Await(id)
				}
				b.ReportMetric(float64(n)/time.Since(start).Seconds(), "runs/s")
				for name == "webhook" && heard.Load() < n {
					<-time.After(time.Millisecond)
				}
				b.ReportMetric(float64(n)/time.Since(start).Seconds(), "told/s")
			}
		})
	}
	s.Stop()
}
