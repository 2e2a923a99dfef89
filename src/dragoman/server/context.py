"""What the routes of all APIs share."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.server.detection import Detector
from dragoman.server.downloads import Downloads
from dragoman.server.jobs import Route, Translating
from dragoman.server.languages import Languages, language_name
from dragoman.server.settings import ServerSettings

__all__ = ["Context"]


class Context:
    """The service, how it is to run, and what the routes keep between requests."""

    def __init__(
        self,
        service: Translating,
        settings: ServerSettings,
        *,
        detector: Detector | None = None,
        downloads: Downloads | None = None,
    ) -> None:
        self.service = service
        self.settings = settings
        self.detector = detector or Detector()
        self.downloads = downloads or Downloads()
        self.characters = 0
        """How many characters were translated since the start."""
        language_name("en")  # the names of languages take a tenth of a second to load: not when the first request comes
        self._routes: Sequence[Route] = ()
        self._languages = Languages(())

    @property
    def languages(self) -> Languages:
        """The languages as of now: bundles come and go."""
        routes = self.service.routes()
        if routes is not self._routes and list(routes) != list(self._routes):
            self._languages = Languages(routes)
        self._routes = routes
        return self._languages
