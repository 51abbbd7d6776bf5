// Package access shows, against the real binary, who may do what and how soon that changes: accounts, sessions, grants,
// several servers, TLS and proxies.
package access

import (
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
