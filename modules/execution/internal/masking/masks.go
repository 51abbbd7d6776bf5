package masking

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/writ-automation/writ/modules/execution/internal/rundir"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret/mask"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// maxKnown bounds the maskers that are kept, in each of two generations.
const maxKnown = 2048

// Masks holds what masks the reports of each claim. It is safe for concurrent use.
type Masks struct {
	store  execution.ClaimSecretStore
	sealer secrets.Sealer
	unit   tx.Unit

	mu         sync.Mutex
	young, old map[runs.Lease]*mask.Masker
}

// New returns masks over a store.
func New(store execution.ClaimSecretStore, sealer secrets.Sealer, unit tx.Unit) *Masks {
	return &Masks{store: store, sealer: sealer, unit: unit, young: make(map[runs.Lease]*mask.Masker)}
}

// Keep stores what a claim hands out, before it does: the secrets of credentials, and variables that look secret.
func (m *Masks) Keep(ctx context.Context, a *runs.Assignment, in secrets.Injection) error {
	list := slices.Concat(rundir.MaskOf(in), a.Run.Vars.Secrets())
	list = slices.DeleteFunc(list, func(s string) bool { return len(s) < mask.MinLen })
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	plain, err := json.Marshal(slices.Compact(list))
	if err != nil {
		return errors.New("the secrets of a claim have no form in JSON")
	}
	defer clear(plain)
	sealed, err := m.sealer.Seal(ctx, execution.SecretsRecord(a.Lease.RunID, a.Lease.Epoch), plain)
	if err != nil {
		return fmt.Errorf("seal the secrets of a claim: %w", err)
	}
	return m.unit.Do(ctx, func(ctx context.Context) error { return m.store.PutSecrets(ctx, a.Lease, sealed) })
}

// Of returns what masks the reports of a claim.
func (m *Masks) Of(ctx context.Context, l runs.Lease) (*mask.Masker, error) {
	m.mu.Lock()
	found, ok := m.young[l]
	if !ok {
		if found, ok = m.old[l]; ok {
			m.put(l, found)
		}
	}
	m.mu.Unlock()
	if ok {
		return found, nil
	}
	made, err := m.read(ctx, l)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(l, made)
	return made, nil
}

// put keeps a masker under the lock. When a generation is full the one before it goes.
func (m *Masks) put(l runs.Lease, made *mask.Masker) {
	if len(m.young) >= maxKnown {
		m.young, m.old = make(map[runs.Lease]*mask.Masker), m.young
	}
	m.young[l] = made
}

func (m *Masks) read(ctx context.Context, l runs.Lease) (*mask.Masker, error) {
	sealed, err := m.store.SecretsOf(ctx, l)
	if err != nil || sealed == nil {
		return nil, err
	}
	plain, err := m.sealer.Open(ctx, execution.SecretsRecord(l.RunID, l.Epoch), sealed)
	if err != nil {
		return nil, fmt.Errorf("open the secrets of a claim: %w", err)
	}
	defer clear(plain)
	var list []string
	if err := json.Unmarshal(plain, &list); err != nil {
		return nil, errors.New("the secrets of a claim are not in their form")
	}
	return mask.New(list), nil
}

// Drop forgets a claim that is over.
func (m *Masks) Drop(ctx context.Context, l runs.Lease) error {
	m.mu.Lock()
	delete(m.young, l)
	delete(m.old, l)
	m.mu.Unlock()
	return m.unit.Do(ctx, func(ctx context.Context) error { return m.store.DropSecrets(ctx, l) })
}

// Forget deletes what is stored of claims whose lease is over.
func (m *Masks) Forget(ctx context.Context) error { return m.unit.Do(ctx, m.store.ForgetSecrets) }

// tail is the end of a claim's output that is not stored yet, since it may be the beginning of a secret.
type tail struct {
	offset int64
	hidden int // how many bytes at the beginning belong to a secret
	data   []byte
}

func (t *tail) end() int64 { return t.offset + int64(len(t.data)) }

// headSize is the size of the offset and of hidden before the data.
const headSize = 8 + 4

func tailRecord(l runs.Lease) string { return execution.SecretsRecord(l.RunID, l.Epoch) + "/tail" }

func (m *Masks) tailOf(ctx context.Context, l runs.Lease) (tail, error) {
	sealed, err := m.store.TailOf(ctx, l)
	if err != nil || sealed == nil {
		return tail{}, err
	}
	plain, err := m.sealer.Open(ctx, tailRecord(l), sealed)
	if err != nil {
		return tail{}, fmt.Errorf("open the end of the output of a claim: %w", err)
	}
	if len(plain) < headSize || int(binary.BigEndian.Uint32(plain[8:])) > len(plain)-headSize {
		return tail{}, errors.New("the end of the output of a claim is not in its form")
	}
	return tail{int64(binary.BigEndian.Uint64(plain)), int(binary.BigEndian.Uint32(plain[8:])), plain[headSize:]}, nil
}

func (m *Masks) putTail(ctx context.Context, l runs.Lease, t tail) error {
	var sealed []byte
	if len(t.data) > 0 {
		plain := binary.BigEndian.AppendUint64(nil, uint64(t.offset))
		plain = append(binary.BigEndian.AppendUint32(plain, uint32(t.hidden)), t.data...)
		var err error
		if sealed, err = m.sealer.Seal(ctx, tailRecord(l), plain); err != nil {
			return fmt.Errorf("seal the end of the output of a claim: %w", err)
		}
	}
	return m.unit.Do(ctx, func(ctx context.Context) error { return m.store.PutTail(ctx, l, sealed) })
}
