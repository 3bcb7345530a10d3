"""From trees to schedules: which turn of which session is sent when, with which prompt, under the rules of a preset."""
