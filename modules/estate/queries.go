package estate

import (
	"github.com/writ-automation/writ/modules/estate/internal/facts"
	"github.com/writ-automation/writ/modules/estate/internal/query"
)

func parse(text string) (facts.Query, error) { return query.Parse(text) }
