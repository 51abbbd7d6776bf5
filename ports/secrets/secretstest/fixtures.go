package secretstest

import (
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/tx/txtest"
)

// odd is a text that survives only if no layer interprets it.
const odd = txtest.Odd

// bytesOf are n bytes of every value, which differ from those of another seed.
func bytesOf(seed, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i + seed)
	}
	return append(out, fmt.Sprintf("'%d'", seed)...)
}

// long is a text that exceeds usual limits of columns.
var long = strings.Repeat("漢'\"\\", 2_000)
