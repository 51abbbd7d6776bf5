package notify

// teamsBody is an adaptive card in the envelope of Workflows webhooks. It uses text runs, which have no markdown,
// unlike text blocks and fact sets.
func teamsBody(r report) object {
	title := truncate(r.title, 2*maxSentence, forTeams)
	items := []object{}
	for _, f := range r.facts {
		items = append(items, object{
			"type": "RichTextBlock", "spacing": "Small",
			"inlines": []object{textRun(f.label+": ", true), textRun(f.in(2*maxSentence, forTeams), false)},
		})
	}
	headline := textRun(title, true)
	headline["size"] = "Medium"
	card := object{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
		"fallbackText": title,
		"body": []object{
			{"type": "Container", "style": cardStyle(r.tone),
				"items": []object{{"type": "RichTextBlock", "inlines": []object{headline}}}},
			{"type": "Container", "items": items},
		},
	}
	return object{"type": "message", "attachments": []object{{"contentType": "application/vnd.microsoft.card.adaptive",
		"content": card}}}
}

func textRun(text string, strong bool) object {
	run := object{"type": "TextRun", "text": text}
	if strong {
		run["weight"] = "Bolder"
	}
	return run
}

// cardStyle is the tone as the styles of containers.
func cardStyle(t tone) string {
	return map[tone]string{good: "good", bad: "attention", neutral: "warning", waiting: "accent"}[t]
}
