package stream

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// secretBytes is the entropy of a ticket.
const secretBytes = 32

// Tickets mints and redeems the single-use tickets of live streams. Only their hashes are stored.
type Tickets struct {
	unit    tx.Unit
	store   runs.Store
	tickets runs.TicketStore
}

var _ runs.Tickets = (*Tickets)(nil)

// NewTickets returns the tickets of the given stores.
func NewTickets(unit tx.Unit, store runs.Store, tickets runs.TicketStore) *Tickets {
	return &Tickets{unit: unit, store: store, tickets: tickets}
}

func (t *Tickets) Mint(ctx context.Context, runID string) (string, error) {
	if runID != runs.FeedTicket {
		if _, err := t.store.ByID(ctx, runID); err != nil {
			return "", err
		}
	}
	var b [secretBytes]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make a ticket: %w", err)
	}
	ticket := hex.EncodeToString(b[:])
	by := actor.From(ctx)
	err := t.unit.Do(ctx, func(ctx context.Context) error {
		return t.tickets.SaveTicket(ctx, sha256.Sum256([]byte(ticket)), runID,
			runs.TicketOwner{Account: by.ID, Token: by.Token}, runs.TicketTTL)
	})
	if err != nil {
		return "", err
	}
	return ticket, nil
}

// Redeem uses up a ticket that is presented for another run too, since it has leaked.
func (t *Tickets) Redeem(ctx context.Context, ticket, runID string) (runs.TicketOwner, error) {
	if len(ticket) != hex.EncodedLen(secretBytes) {
		return runs.TicketOwner{}, runs.BadTicket.New("the stream ticket is not valid")
	}
	var forRun string
	var owner runs.TicketOwner
	err := t.unit.Do(ctx, func(ctx context.Context) error {
		var err error
		forRun, owner, err = t.tickets.TakeTicket(ctx, sha256.Sum256([]byte(ticket)))
		return err
	})
	if err != nil {
		return runs.TicketOwner{}, err
	}
	if forRun != runID {
		return runs.TicketOwner{}, runs.BadTicket.New("the stream ticket is not valid")
	}
	return owner, nil
}
