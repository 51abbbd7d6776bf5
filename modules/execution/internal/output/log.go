package output

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"

	"github.com/writ-automation/writ/modules/execution/internal/spool"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret/mask"
)

// Log is the output writer of a tool. Writes never fail and never wait for the control plane. It is safe for
// concurrent use.
type Log struct {
	mu     sync.Mutex
	runID  string
	stream *mask.Stream
	live   runs.Live
	spool  *spool.Log
	sum    hash.Hash
	buf    []byte
	grown  func(n int)
}

// NewLog makes the writer of one run. It calls grown with the number of bytes that were added to the spool.
func NewLog(runID string, m *mask.Masker, live runs.Live, s *spool.Log, grown func(n int)) *Log {
	return &Log{runID: runID, stream: m.Stream(), live: live, spool: s, sum: sha256.New(), grown: grown}
}

// Write masks p and passes it on.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = l.stream.Append(l.buf[:0], p)
	l.pass()
	return len(p), nil
}

// Close passes on the bytes that were held back because they might have become a secret.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = l.stream.Close(l.buf[:0])
	l.pass()
}

func (l *Log) pass() {
	if len(l.buf) == 0 {
		return
	}
	_, _ = l.sum.Write(l.buf) // a hash never fails
	l.spool.Append(l.buf, l.show)
	l.grown(len(l.buf))
}

func (l *Log) show(off int64, data []byte) {
	if l.live != nil {
		l.live.ShowLog(l.runID, runs.LogChunk{Offset: off, Data: data})
	}
}

// Sum returns the SHA-256 of the masked output, in hex.
func (l *Log) Sum() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return hex.EncodeToString(l.sum.Sum(nil))
}
