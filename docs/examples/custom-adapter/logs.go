package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/writ-automation/writ/ports/runs"
)

// encryptedLogs encrypts the output for another log store with AES-CTR. The key stream depends on the run and the
// offset, so that lengths and offsets stay and any part can be read. It hides the output in the database and its
// backups; it does not detect changes there.
type encryptedLogs struct {
	runs.LogStore
	block cipher.Block
}

func newEncryptedLogs(stored runs.LogStore, passphrase string) (runs.LogStore, error) {
	if len(passphrase) < 16 {
		return nil, errors.New("LOG_KEY: give at least 16 characters")
	}
	key := sha256.Sum256([]byte(passphrase))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return &encryptedLogs{LogStore: stored, block: block}, nil
}

// AppendLog stores an encrypted chunk.
func (l *encryptedLogs) AppendLog(ctx context.Context, held runs.Lease, c runs.LogChunk) (runs.LogState, error) {
	return l.LogStore.AppendLog(ctx, held, l.crypt(held.RunID, c))
}

// ReadLog yields decrypted chunks.
func (l *encryptedLogs) ReadLog(
	ctx context.Context, runID string, from, to int64, yield func(runs.LogChunk) error,
) error {
	return l.LogStore.ReadLog(ctx, runID, from, to, func(c runs.LogChunk) error { return yield(l.crypt(runID, c)) })
}

// crypt encrypts or decrypts a chunk. The counter begins with the run and ends with the number of the block.
func (l *encryptedLogs) crypt(runID string, c runs.LogChunk) runs.LogChunk {
	counter := sha256.Sum256([]byte(runID))
	binary.BigEndian.PutUint64(counter[8:16], uint64(c.Offset/aes.BlockSize)) //nolint:gosec // offsets are not negative
	skip := c.Offset % aes.BlockSize
	text := append(make([]byte, skip), c.Data...)
	cipher.NewCTR(l.block, counter[:aes.BlockSize]).XORKeyStream(text, text)
	c.Data = text[skip:]
	return c
}
