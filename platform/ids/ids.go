package ids

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/oklog/ulid/v2"

	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/ids"
)

var _ ids.Generator = (*Generator)(nil)

// entropyBuffer is how many random bytes are fetched at once; one id takes ten, and only the first of a millisecond
// takes any.
const entropyBuffer = 1 << 10

// Generator makes ids that sort in the order of their creation, even if the clock stops or steps back. It is safe for
// concurrent use.
type Generator struct {
	clock   clock.Clock
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
	last    uint64
}

// New makes a generator on a clock.
func New(c clock.Clock) *Generator {
	return &Generator{clock: c, entropy: ulid.Monotonic(bufio.NewReaderSize(rand.Reader, entropyBuffer), 0)}
}

func (g *Generator) New(p ids.Prefix) string {
	id := g.next()
	buf := make([]byte, len(p)+ulid.EncodedSize)
	copy(buf, p)
	text := buf[len(p):]
	if err := id.MarshalTextTo(text); err != nil {
		panic(fmt.Sprintf("ids: a buffer of the right size is refused: %v", err))
	}
	for i, c := range text {
		if c >= 'A' && c <= 'Z' {
			text[i] = c + ('a' - 'A')
		}
	}
	return string(buf)
}

// next never goes back in time. When the random part of a millisecond is used up, it takes the next millisecond early,
// which keeps the order.
func (g *Generator) next() ulid.ULID {
	ms := ulid.Timestamp(g.clock.Now())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(g.last, ms)
	for {
		id, err := ulid.New(g.last, g.entropy)
		if err == nil {
			return id
		}
		g.last++
	}
}
