package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/writ-automation/writ/ports/events"
)

// Publisher keeps the events of the content that is made for the subscribers that make more content of them. After
// Release it is the publisher of the process.
type Publisher struct {
	real     events.Publisher
	mu       sync.Mutex
	released bool
	waiting  []events.Message
}

var _ events.Publisher = (*Publisher)(nil)

// NewPublisher returns a publisher that keeps events.
func NewPublisher() *Publisher { return &Publisher{} }

// Over sets the publisher of the process, and returns p.
func (p *Publisher) Over(real events.Publisher) *Publisher {
	p.real = real
	return p
}

// Publish keeps an event until Flush, or passes it on after Release.
func (p *Publisher) Publish(ctx context.Context, e events.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.released {
		return p.real.Publish(ctx, e)
	}
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode %s: %w", e.EventName(), err)
	}
	p.waiting = append(p.waiting, events.Message{Name: e.EventName(), Version: e.EventVersion(), Data: data})
	return nil
}

// Flush calls the subscribers of the events that wait.
func (p *Publisher) Flush(ctx context.Context, subscribers []events.Subscription) error {
	for n := 0; ; n++ {
		p.mu.Lock()
		list := p.waiting
		p.waiting = nil
		p.mu.Unlock()
		if len(list) == 0 {
			return nil
		}
		for _, m := range list {
			m.ID = fmt.Sprintf("demo-%d", n)
			for _, s := range subscribers {
				if s.Event != m.Name {
					continue
				}
				if err := s.Handle(ctx, m); err != nil {
					return fmt.Errorf("%s of %s: %w", m.Name, s.Name, err)
				}
			}
		}
	}
}

// Release passes further events on.
func (p *Publisher) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released, p.waiting = true, nil
}
