package boundary

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/platform/background"
)

// Range are user ids, each of which has a group of the same number.
type Range struct{ First, Last int }

func (r Range) String() string {
	if r.First == r.Last {
		return strconv.Itoa(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// defaultRanges lie outside of what systems assign; the second one is for containers, whose ids end at 65535.
func defaultRanges() []Range { return []Range{{65600, 66623}, {64000, 65023}} }

// Account is who executes inside. The zero value of Lease is the server's own account.
type Account struct {
	UID, GID int
	lock     net.Listener
}

// Own reports whether the account is another one than the server's.
func (a *Account) Own() bool { return a != nil }

// Close gives the account back. Nothing may execute in its name any more.
func (a *Account) Close() error {
	if a == nil || a.lock == nil {
		return nil
	}
	return a.lock.Close()
}

// pool gives accounts to runs in turn, so that one is used again as late as possible.
type pool struct {
	ids  Range
	mu   sync.Mutex
	next int
}

// newPool returns the pool of a range, or of the default one that this user namespace maps.
func newPool(r Range) (*pool, error) {
	ranges := []Range{r}
	if r == (Range{}) {
		ranges = defaultRanges()
	}
	for _, r := range ranges {
		if mapped("/proc/self/uid_map", r) && mapped("/proc/self/gid_map", r) {
			return &pool{ids: r, next: os.Getpid() % (r.Last - r.First + 1)}, nil
		}
	}
	return nil, fmt.Errorf("the user ids %s do not exist here: this is a container with fewer; name others with "+
		"--run-user",
		ranges[len(ranges)-1])
}

// mapped reports whether ids exist in this user namespace.
func mapped(file string, r Range) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var first, outside, n int
		if _, err := fmt.Sscan(lines.Text(), &first, &outside, &n); err == nil && first <= r.First && r.Last < first+n {
			return true
		}
	}
	return false
}

// leaseWait is how long a lease waits for an account, looking every leaseLook: a program that is just being started
// holds the locks of this process until it has begun, also those that were given back.
const (
	leaseWait = time.Second
	leaseLook = 10 * time.Millisecond
)

// lease takes an account that no server on this machine uses: the name of a socket is the lock, which ends with its
// process. Runs of one purpose get the same account if it is free; without a purpose the accounts take turns.
func (p *pool) lease(purpose string) (*Account, error) {
	ctx, cancel := context.WithTimeout(context.Background(), leaseWait)
	defer cancel()
	for {
		a := p.try(purpose)
		if a != nil {
			return a, nil
		}
		if !background.Wait(ctx, leaseLook) {
			return nil, errors.New("every account for runs is in use; give more with --run-user")
		}
	}
}

// try returns an account, nil if none is free.
func (p *pool) try(purpose string) *Account {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.ids.Last - p.ids.First + 1
	if purpose != "" {
		h := fnv.New32a()
		_, _ = h.Write([]byte(purpose))
		p.next = int(h.Sum32() % uint32(n)) //nolint:gosec // at least one
	}
	for range n {
		id := p.ids.First + p.next
		p.next = (p.next + 1) % n
		if n == 1 { // runs share it
			return &Account{UID: id, GID: id}
		}
		l, err := net.Listen("unix", "@writ-run-"+strconv.Itoa(id))
		if err == nil {
			return &Account{UID: id, GID: id, lock: l}
		}
	}
	return nil
}

// withEntry returns the text of a file such as /etc/passwd with one more line, nil if it has one for the id.
func withEntry(path, id, entry string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text := string(b)
	for line := range strings.Lines(text) {
		if f := strings.Split(line, ":"); len(f) > 2 && f[2] == id {
			return nil, nil
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return []byte(text + entry + "\n"), nil
}
