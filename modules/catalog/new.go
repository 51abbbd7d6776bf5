package catalog

import (
	"encoding/json"

	"github.com/writ-automation/writ/modules/catalog/internal/inventory"
	"github.com/writ-automation/writ/modules/catalog/internal/survey"
	"github.com/writ-automation/writ/ports/catalog"
)

// inventories implements catalog.Inventories.
type inventories struct{}

// NewInventories returns what reads inventories. It keeps nothing.
func NewInventories() catalog.Inventories { return inventories{} }

// Parse implements catalog.Inventories.
func (inventories) Parse(content []byte, f catalog.Format) (*catalog.InventoryContent, error) {
	return inventory.Parse(content, f)
}

// Count implements catalog.Inventories.
func (inventories) Count(content []byte, f catalog.Format) (hosts, groups int, err error) {
	return inventory.Count(content, f)
}

// surveys implements catalog.Surveys.
type surveys struct{}

// NewSurveys returns what checks surveys and their answers. It keeps nothing.
func NewSurveys() catalog.Surveys { return surveys{} }

// Decode implements catalog.Surveys.
func (surveys) Decode(raw json.RawMessage) ([]catalog.SurveyField, error) {
	fields, err := survey.Decode(raw)
	if err != nil {
		return nil, err
	}
	return fields, survey.Check(fields)
}

// Encode implements catalog.Surveys.
func (surveys) Encode(fields []catalog.SurveyField) (json.RawMessage, error) {
	return survey.Encode(fields)
}

// Answer implements catalog.Surveys.
func (surveys) Answer(fields []catalog.SurveyField, answers map[string]any) (map[string]any, error) {
	return survey.Answer(fields, answers)
}
