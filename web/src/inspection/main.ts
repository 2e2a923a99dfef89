import { startInspectionPage } from './inspection-page';

startInspectionPage();
