package bench

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// create makes an object and returns its id.
func create(b *testing.B, s *harness.Server, path string, body harness.Body) string {
	b.Helper()
	a := s.Do(http.MethodPost, path, body)
	if a.Status != http.StatusCreated {
		b.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	var made struct {
		ID string `json:"id"`
	}
	a.JSON(b, &made)
	return made.ID
}

// BenchmarkCatalog measures lists for the admin and for a reader who may not see a tenth of them: a thousand and ten
// thousand templates, and inventories with a hundred thousand hosts.
func BenchmarkCatalog(b *testing.B) {
	s := harness.Start(b, harness.Options{})
	user := create(b, s, "/v1/users", harness.Body{"username": "reader", "role": "operator"})
	var minted struct {
		Token string `json:"token"`
	}
	s.Do(http.MethodPost, "/v1/tokens", harness.Body{"name": "reader", "user_id": user}).JSON(b, &minted)
	other := create(b, s, "/v1/users", harness.Body{"username": "other", "role": "viewer"})
	made := 0
	for _, n := range []int{1000, 10_000} {
		fill(b, s, &made, n, other)
		b.Run(fmt.Sprintf("templates=%d", n), func(b *testing.B) {
			for b.Loop() {
				for who, token := range map[string]string{"admin": s.Token, "reader": minted.Token} {
					c := &harness.Server{Client: s.As(token)}
					for name, path := range map[string]string{
						"first": "/v1/templates?limit=200", "last": fmt.Sprintf("/v1/templates?limit=200&offset=%d", n*9/10-200),
						"name": "/v1/templates?name=t500",
					} {
						b.ReportMetric(ms(quantile(pages(b, c, 1, 30, path), 0.95)), "ms-p95-"+who+"-"+name)
					}
				}
			}
		})
	}
	for i := range 2 {
		create(b, s, "/v1/inventories", harness.Body{"name": fmt.Sprint("large", i), "content": hosts(50_000),
			"format": "ini"})
	}
	b.Run("inventories of 100000 hosts", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(ms(quantile(pages(b, s, 1, 30, "/v1/inventories"), 0.95)), "ms-p95-list")
		}
	})
	s.Stop()
}

// fill creates templates until there are n; every tenth is restricted to another account.
func fill(b *testing.B, s *harness.Server, made *int, n int, other string) {
	b.Helper()
	var next atomic.Int64
	next.Store(int64(*made))
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				id := create(b, s, "/v1/templates", harness.Body{
					"name": fmt.Sprint("t", i), "tool": "bash", "command": "true",
					"survey": []harness.Body{{"var": "a", "type": "text", "default": "b"}},
				})
				if i%10 == 0 {
					create(b, s, "/v1/grants", harness.Body{"subject": "user:" + other, "object": id, "level": "read"})
				}
			}
		})
	}
	wait.Wait()
	*made = n
}
