package demo

import (
	"context"
	"log/slog"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/catalog"
)

// liveEvery is how often a run begins while the demo is served.
const liveEvery = time.Minute

// Live returns what goes on while the demo is served: first the project is fetched and the large run is executed, and a
// run begins each minute.
func (s *Seeder) Live(log *slog.Logger) background.Group {
	begun := 0
	limits := []string{"web-eu-000*", "api-us-000*", "db-ap*", "edge-eu*", "web-us-001*"}
	templates := []string{"Patch web servers", "Deploy api", "Sync users", "Sync users", "Patch web servers"}
	return background.Group{
		{Name: "demo project", Log: log, Every: time.Hour, Pass: func(ctx context.Context) error {
			if s.project == "" {
				return nil
			}
			_, err := s.p.Projects.Sync(s.as(ctx, ada), s.project)
			return err
		}},
		{Name: "demo large run", Log: log, Every: time.Hour, Pass: func(ctx context.Context) error {
			u := s.large
			if u == nil {
				return nil
			}
			s.large = nil
			return u.Finish(ctx)
		}},
		{Name: "demo runs", Log: log, Every: liveEvery, Pass: func(ctx context.Context) error {
			n := begun % len(templates)
			begun++
			l := catalog.Launch{Limit: &limits[n]}
			if templates[n] == "Deploy api" {
				l.Answers = map[string]any{"release": "4.13.0"}
			}
			_, err := s.launch(ctx, mara, templates[n], l)
			return err
		}},
	}
}
