package estate_test

import (
	"testing"

	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
)

func TestMain(m *testing.M) { httpapitest.Main(m) }
